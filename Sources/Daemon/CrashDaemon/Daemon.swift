import CrashStore
import Glibc
import LinuxSystem
public import Logging
import ServiceLifecycle
import UnixSignals

/// The daemon crashd, which collects the crashes of the processes on this machine and serves them to clients.
///
///     let daemon = try Daemon(configuration, logger: logger)
///     try await daemon.run()
public final class Daemon: Sendable {
  private let configuration: DaemonConfiguration
  private let logger: Logger
  private let locks: [DirectoryLock]
  let analysis: CrashAnalysis
  let policy: PolicyKeeper
  private let reload: SettingsReload
  private let services: ServiceGroup
  private let watchdog: Watchdog?

  /// Locks the directories, opens the store and listens.
  ///
  /// When this initializer returns, processes and clients can connect.
  /// - Throws: `DaemonError`. If the initializer throws, crashd holds no lock and no socket, but the directories that
  ///   it created remain.
  public init(_ configuration: DaemonConfiguration, logger: Logger) throws(DaemonError) {
    self.configuration = configuration
    self.logger = logger
    let directories = configuration.directories
    Self.raiseDescriptorLimit()
    do throws(SystemError) { try directories.make() } catch { throw .system(error.description) }
    locks = try [DirectoryLock(path: directories.runtimeLock), DirectoryLock(path: directories.stateLock)]
    let (store, setAside) = try Self.openStore(directories.reports, configuration.limits.accounts)
    if let reason = store.whyClosed { logger.critical("\(reason): reports wait in memory until the store opens") }
    let numbers = PassedSockets.parse(environment: configuration.environment, pid: getpid())
    let (kept, sockets) = PassedSockets.takeKept(
      numbers, names: PassedSockets.names(environment: configuration.environment, count: numbers.count))
    let passed = try PassedSockets.take(sockets)
    let ledger = Ledger(logger: logger, limits: configuration.limits)
    let program = configuration.analyseProgram
    if program == nil {
      let what = configuration.analysePath.map { "'\($0)' cannot be run" } ?? "crash-analyse was not found"
      logger.warning("\(what): reports will have addresses instead of names")
    }
    do {
      try CacheDirectory(path: directories.symbols).removeLeftovers()
    } catch {
      logger.warning("cannot remove the leftovers of symbol jobs: \(error), ignoring")
    }
    var symbols = SymbolCaches.Configuration(
      directory: directories.symbols, program: program, servers: Self.servers(configuration, logger),
      limits: configuration.limits, ledger: ledger, logger: logger)
    symbols.symbolDirectories = configuration.settings.symbolDirectories
    let board = ProtectionBoard()
    let live = LiveSettings(configuration.settings.live)
    let policy = PolicyKeeper(
      store: store, board: board, ledger: ledger, logger: logger,
      configuration: PolicyKeeper.Configuration(
        allowsAutomaticProtection: configuration.allowsAutomaticProtection, limits: configuration.limits))
    let look = CPUAccounts.Allowance(
      burst_ms: configuration.limits.lookBurst_ms, share_percent: configuration.limits.lookShare_percent)
    analysis = CrashAnalysis(
      caches: SymbolCaches(symbols), unwinder: SnapshotUnwinder(symbols),
      permits: FairSemaphore(
        PermitLimit(
          total: configuration.limits.looks, perUser: configuration.limits.looksPerUser, hasReserve: false),
        configuration.limits.accounts),
      lookTime: CPUAccounts(look, users: configuration.limits.accounts),
      incidentTime: CPUAccounts(look, users: configuration.limits.accounts),
      store: store, hub: EventHub(configuration.limits),
      outage: StoreOutage(limits: configuration.limits, failure: store.whyClosed), ledger: ledger,
      limits: configuration.limits, logger: logger,
      settings: live, policy: policy, health: HealthBook(store: store, logger: logger))
    self.policy = policy
    reload = SettingsReload(settings: configuration.settings, live: live, logger: logger)
    (services, watchdog) = try Self.services(
      configuration, analysis, passed, kept, setAside, policy: policy, board: board, live: live,
      access: Self.access(configuration.settings, logger))
  }

  private static func servers(_ configuration: DaemonConfiguration, _ logger: Logger) -> FetchJob.Servers? {
    guard !configuration.debuginfodURLs.isEmpty else { return nil }
    guard let program = configuration.fetchProgram else {
      let what = configuration.fetchPath.map { "'\($0)' cannot be run" } ?? "crash-fetch was not found"
      logger.warning("\(what): crashd does not request debug information from servers")
      return nil
    }
    logger.info("debug information comes from \(configuration.debuginfodURLs.joined(separator: ", "))")
    return FetchJob.Servers(program: program, urls: configuration.debuginfodURLs)
  }

  /// Resolves the group that can access all crashes.
  ///
  /// If the group cannot be resolved, this function logs the error and returns a rule without the group. crashd starts
  /// nevertheless, because it must store crashes in any case.
  private static func access(_ settings: Settings, _ logger: Logger) -> AccessRule {
    var rule = AccessRule(root: settings.accessRoot)
    do throws(AccessGroup.Problem) { rule.group = try settings.accessGroup.resolve() } catch {
      logger.error("access.group: \(error), so only root and uid \(rule.user) can see all crashes")
      return rule
    }
    let members = rule.group.map { ", and members of the group '\($0.name)' (\($0.number))," } ?? ""
    logger.info("root and uid \(rule.user)\(members) can see and change all crashes; other users only their own")
    return rule
  }

  private static func services(
    _ configuration: DaemonConfiguration, _ analysis: CrashAnalysis, _ passed: [UnixSocket.Kind: Descriptor],
    _ kept: [(name: String, descriptor: Descriptor)], _ setAside: ReportStore.SetAside?, policy: PolicyKeeper,
    board: ProtectionBoard,
    live: LiveSettings, access: AccessRule
  ) throws(DaemonError) -> (ServiceGroup, Watchdog?) {
    let directories = configuration.directories
    let attachSocket = try socket(.packets, directories.attachSocket, passed)
    let varlinkSocket = try socket(.stream, directories.varlinkSocket, passed)
    do throws(SystemError) {
      let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
      let notifier = Notifier(environment: configuration.environment)
      let heartbeats = LoopPulses()
      let store = DescriptorStore(
        environment: configuration.environment, notifier: notifier, ledger: analysis.ledger)
      let (processes, connections) = (DescriptorStore.processes(in: kept), DescriptorStore.connections(in: kept))
      // The descriptor store of systemd holds two descriptors for each process: the ring and the pidfd. If systemd lost
      // one of the two, remove the other one from the store.
      let known = Set(processes.map(\.name) + connections.map(\.name))
      for name in Set(kept.map(\.name)).subtracting(known).sorted() { store?.forget(name) }
      let trials = HelloTrials(path: directories.helloTrials, kept: Set(connections.map(\.name))) {
        analysis.logger.warning("\($0): hellos that crash crashd are retried without a limit")
      }
      let lastCrashes = LastCrashBox()
      // Read the facts about the machine now. Otherwise, the attach thread would have to read them when the first
      // process attaches.
      _ = MachineFacts.here
      let attach = try AttachServer(
        AttachLoop.Configuration(
          listener: attachSocket, spool: SpoolWatch(directory: directories.spool), limits: analysis.limits,
          ledger: analysis.ledger, events: continuation, store: store, kept: processes,
          keptConnections: connections, trials: trials, board: board, lastCrashes: lastCrashes,
          settings: live, heartbeat: heartbeats.attach))
      let status = StatusLine(notifier: notifier, store: analysis.store, hub: analysis.hub)
      let pipeline = CrashPipeline(
        analysis: analysis, spool: try SpoolDirectory(path: directories.spool), events: events, store: store,
        lastCrashes: lastCrashes, heartbeat: heartbeats.pipeline, whenChanged: { status.note(processes: $0) })
      let counts = ForwardCounts()
      let keeper = StoreKeeper(
        StoreKeeper.Configuration(
          analysis: analysis, settings: live,
          directory: directories.state, status: status, descriptors: store, setAside: setAside,
          makeDirectories: {
            do throws(SystemError) { try directories.make() } catch { analysis.logger.warning("\(error), ignoring") }
          },
          heartbeat: heartbeats.store))
      let interface = CrashdInterface(
        store: analysis.store, reanalysis: Reanalysis(analysis), imports: RecordImports(analysis),
        caches: analysis.caches, unwinder: analysis.unwinder,
        pipeline: pipeline, attach: attach, policy: policy, ledger: analysis.ledger, outage: analysis.outage,
        forwards: counts, settings: live, limits: analysis.limits, access: access, commit: configuration.commit)
      let varlink = VarlinkServer(listener: varlinkSocket, interface: interface, hub: analysis.hub)
      let forwarding = Forwarding(
        Forwarder.Configuration(
          store: analysis.store, hub: analysis.hub, settings: live, counts: counts, limits: analysis.limits,
          logger: analysis.logger))
      let metrics = MetricsFile(interface: interface, settings: live, logger: analysis.logger)
      let scrapes = MetricsListener(interface: interface, settings: live, logger: analysis.logger)
      var watchdog: Watchdog?
      if let request = Watchdog.Request(environment: configuration.environment, pid: getpid()),
        let systemd = notifier.connection()
      {
        watchdog = try Watchdog(
          request, systemd: systemd, loops: heartbeats.loops(attach: attach, events: continuation),
          logger: analysis.logger)
      }
      let readiness = Readiness(notifier: notifier)
      // The services stop in the reverse order of the list `services`. Therefore, the status line stops first, before
      // crashd notifies systemd of the stop. After the status line, the attach server stops, the pipeline stores the
      // remaining records, and the store keeper stores the reports that crashd held in memory. Last, crashd delivers
      // the new reports to subscribers.
      let services: [any Service] = [
        metrics, scrapes, forwarding, varlink, keeper, pipeline, attach, readiness, status,
      ]
      let group = ServiceGroup(
        services: watchdog.map { services + [$0] } ?? services,
        gracefulShutdownSignals: configuration.handlesSignals ? [.sigterm, .sigint] : [], logger: analysis.logger)
      return (group, watchdog)
    } catch {
      throw .system(error.description)
    }
  }

  /// Serves until a signal or `stop()` ends the services, then closes the store.
  public func run() async throws {
    logger.info("listening in '\(configuration.directories.runtime)'")
    let reloading = await followReloads()
    defer {
      reloading?.cancel()
      watchdog?.end()
    }
    try await services.run()
    await policy.tick()
    await analysis.health?.tick()
    do throws(StoreError) { try analysis.store.close() } catch { throw DaemonError.store(error.description) }
    logger.info("stopped")
  }

  /// Installs the handling of SIGHUP.
  ///
  /// When the function returns, SIGHUP is handled. crashd reports only later that it is ready.
  private func followReloads() async -> Task<Void, Never>? {
    guard let read = configuration.readSettings else { return nil }
    let (hangups, reload) = (await UnixSignalsSequence(trapping: .sighup), reload)
    return Task { await reload.follow(hangups, by: read) }
  }

  /// Begins a graceful stop.
  public func stop() async {
    await services.triggerGracefulShutdown()
  }

  private static func openStore(
    _ path: String, _ accounts: UserAccounts
  ) throws(DaemonError) -> (ReportStore, ReportStore.SetAside?) {
    do throws(StoreError) {
      return try ReportStore.open(
        path: path, at: Moment.now().description, fairShare: FairShare { accounts.account(of: $0) })
    } catch { throw .store(error.description) }
  }

  private static func socket(
    _ kind: UnixSocket.Kind, _ path: String, _ passed: [UnixSocket.Kind: Descriptor]
  ) throws(DaemonError) -> Descriptor {
    if let socket = passed[kind] { return socket }
    do throws(SystemError) { return try UnixSocket.listen(path: path, kind: kind) } catch {
      throw .system(error.description)
    }
  }

  /// Raises the soft limit of open descriptors to the hard limit, because crashd needs up to four descriptors for each
  /// process.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    // Each call reads or writes one struct rlimit. If one of the calls fails, the limit stays unchanged.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
