import CrashRing
import CrashStore
import Logging
import ServiceLifecycle
import Synchronization

/// Serializes the analysis of crashes per process.
///
/// The pipeline consumes attach events and spool events in order. The pipeline never reads one ring (the memory with a
/// process's crash records) from two tasks at once.
///
/// The pipeline also records when all reports of a process are stored.
///
/// The pipeline is a class with a lock and not an actor. During many concurrent crashes, each short job of an actor
/// would wait behind the readings of all rings. Until all crashes are read, the rings that were already read would stay
/// mapped (docs/decisions/0099).
final class CrashPipeline: Service {
  struct State {
    var entries: [UInt64: ProcessLife] = [:]
    var ended: [Ended] = []
    var waiters: [UInt64: Waiter] = [:]
    var nextWaiter: UInt64 = 0
    /// The numbers of requests by build.
    var requests = RequestTotals()
    var isStopping = false
  }

  /// The data that `AwaitProcess` returns for a process that has ended.
  struct Ended {
    var facts: ProcessFacts
    var reports: [String]
  }

  /// A call that waits until all reports of a process are stored.
  struct Waiter {
    var pid: Int32
    var continuation: CheckedContinuation<Void, Never>
    var alarm: Task<Void, Never>
  }

  let analysis: CrashAnalysis
  let limits: Limits
  /// The state of the pipeline, which a lock protects.
  ///
  /// A task holds the lock `state` only while it does short work that does not block.
  ///
  /// A task that holds `state` is allowed to take only the locks of `Outstanding` and `StoreOutage`. The methods of
  /// these two types take no further locks.
  let state = Mutex(State())
  let store: DescriptorStore?
  let lastCrashes: LastCrashBox
  /// Receives the number of processes after each change of this number.
  private let whenChanged: @Sendable (_ processes: Int) -> Void
  /// Ordering: the lock `telling` is held during the callback, so that the last callback receives the latest number.
  private let telling = Mutex(())
  let spooler: SpoolTaker
  let register: PolicyRegister
  let rings = RingTable()
  let unwindings: SecondUnwindings
  /// Ensures that only one task at a time reads the incidents of a ring.
  let observing = SharedTurns<RingKey>()
  /// The number of announced rings whose reading is not complete.
  let drains = Outstanding()
  private let events: AsyncStream<PipelineEvent>
  /// The processes that have announced incidents; each process is in the stream at most once.
  let recorded = AsyncStream.makeStream(of: AttachedProcess.self)
  private let heartbeat: Heartbeat
  private let images: RecentImages
  /// The changes in the health of the store.
  ///
  /// One stream wakes the calls that wait for a process. The other stream wakes the task that reads the spool.
  private let changes: (waiters: AsyncStream<StoreOutage.Change>, spooler: AsyncStream<StoreOutage.Change>)
  /// The tasks that consume the streams in `changes`.
  ///
  /// The tasks run until the pipeline is deinitialized, because the last reports are stored after `run` has returned.
  private let following = Mutex<[Task<Void, Never>]>([])
  /// The maximum number of attempts to add late symbols to a report.
  ///
  /// An attempt fails if another task changes the report in the meantime.
  private static let improvements = 4

  init(
    analysis: CrashAnalysis, spool: SpoolDirectory, events: AsyncStream<PipelineEvent>, store: DescriptorStore? = nil,
    lastCrashes: LastCrashBox = LastCrashBox(), heartbeat: Heartbeat = Heartbeat("pipeline"),
    whenChanged: @escaping @Sendable (_ processes: Int) -> Void = { _ in }
  ) {
    self.whenChanged = whenChanged
    self.store = store
    self.lastCrashes = lastCrashes
    self.heartbeat = heartbeat
    self.analysis = analysis
    self.events = events
    limits = analysis.limits
    images = RecentImages(memory_ms: analysis.limits.recentImages_ms)
    register = PolicyRegister(analysis.policy)
    unwindings = SecondUnwindings(analysis)
    changes = (analysis.outage.changes(), analysis.outage.changes())
    spooler = SpoolTaker(analysis: analysis, spool: spool, rings: rings, unwindings: unwindings)
  }

  deinit {
    for task in following.withLock({ $0 }) { task.cancel() }
  }

  /// Handles events until the attach thread ends, and then finishes the analyses that have begun.
  func run() async throws {
    followStore()
    await withDiscardingTaskGroup { group in
      group.addTask { await self.improveLateReports() }
      group.addTask { await self.readAnnouncedIncidents() }
      let watching = Task { await self.watch() }
      for await event in events { handle(event, in: &group) }
      watching.cancel()
      recorded.continuation.finish()
      // At this point, all reports are stored, so crashd cancels the unwind cross-checks, which could only improve
      // frames of these reports.
      await analysis.unwinder.stop()
      state.withLock { $0.isStopping = true }
      await spooler.stop()
      await analysis.caches.endLate()
    }
    await drains.finish()
    await spooler.finish()
    await unwindings.finish()
    await register.settle()
    // Do not return before the shutdown, because ServiceLifecycle treats a service that returns earlier as failed.
    try await gracefulShutdown()
  }

  private func followStore() {
    let (changes, spooler) = (changes, spooler)
    let tasks = [
      Task { [weak self] in
        for await _ in changes.waiters { self?.wakeWaiters() }
      },
      Task {
        for await change in changes.spooler { await spooler.takeLeft(isWell: change.isWell) }
      },
    ]
    following.withLock { $0 += tasks }
  }

  private func handle(_ event: PipelineEvent, in group: inout DiscardingTaskGroup) {
    heartbeat.beat()
    switch event {
    case .asked: break
    case .attached(let process, let images):
      attach(process, images)
      // The task is not part of the task group, so that crashd can stop without waiting for it.
      Task { await tellLastCrash(to: process) }
    case .announced(let process):
      if announce(process) { begin(process) }
    case .recordedIncidents(let process): recorded.continuation.yield(process)
    case .ended(let ended):
      let number = ended.process.number
      if change(number, { counted($0.noteEnd(ended)) }) == .begins { begin(ended.process) }
    case .spooled(let names): group.addTask { await self.spooler.take(names) }
    case .settled(let continuation): continuation.resume()
    }
  }

  private func attach(_ process: AttachedProcess, _ files: [ImageFile]) {
    var entry = ProcessLife(process: process)
    let (caches, tables, user) = (analysis.caches, analysis.unwinder.tables, process.facts.peer.uid)
    if images.areNew(files, for: user) {
      entry.preparation = Task { await caches.prepare(files, for: user) }
      // Do not wait for the task `tables`, because reports are stored without waiting for unwind tables.
      entry.tables = Task { await tables.prepare(files, for: user) }
    }
    register.note(.attached(process))
    rings.add(RingKey(process.facts))
    state.withLock { $0.entries[process.number] = entry }
    // Read the ring only after the process was added to `entries`, because a client can request the list of processes
    // as soon as it knows that crashd has accepted the process.
    countRequests(of: process)
    analysis.health?.attach(process)
    tellCount()
  }

  func tellCount() {
    telling.withLock { _ in whenChanged(state.withLock { $0.entries.count }) }
  }

  /// - Returns: Whether the caller must begin a reading of the ring.
  private func announce(_ process: AttachedProcess) -> Bool {
    let hasEnded = process.hasEnded.load(ordering: .acquiring)
    let announcement = change(process.number) { entry in
      counted(entry.announce(isClosed: hasEnded, emptyWakesLimit: limits.emptyWakes))
    }
    if announcement == .isIgnored {
      analysis.ledger.refuse(
        "wake-up", from: process.facts.peer, because: "too many brought no new records; later ones are ignored")
    }
    return announcement == .begins
  }

  /// Ordering: count the new reading in `drains` while the lock is held.
  ///
  /// Therefore, a stop of crashd waits for every reading that began earlier.
  private func counted(_ announcement: ProcessLife.Announcement) -> ProcessLife.Announcement {
    if announcement == .begins { drains.begin() }
    return announcement
  }

  /// Changes the entry of a process; returns nil if there is no entry with the given number.
  @discardableResult
  func change<Result>(_ number: UInt64, _ body: (inout ProcessLife) -> Result) -> Result? {
    state.withLock { state in
      guard var entry = state.entries[number] else { return nil }
      defer { state.entries[number] = entry }
      return body(&entry)
    }
  }

  func entry(_ number: UInt64) -> ProcessLife? { state.withLock { $0.entries[number] } }

  /// Returns the number of attached processes, and the number of ended processes among them whose last reading is not
  /// complete.
  func count(mayRead: (Peer) -> Bool) -> (all: Int, ending: Int) {
    state.withLock { state in
      state.entries.values.reduce(into: (0, 0)) { counts, entry in
        guard mayRead(entry.process.facts.peer) else { return }
        counts.0 += 1
        if entry.process.hasEnded.load(ordering: .acquiring) { counts.1 += 1 }
      }
    }
  }

  /// Returns the processes that are attached now.
  func attached() -> [AttachedProcess] {
    state.withLock { $0.entries.values.map(\.process) }.sorted { $0.number < $1.number }
  }
}

// Adds symbols that arrived late to stored reports.
extension CrashPipeline {
  /// Rebuilds reports whose symbols arrived late, one report after the other.
  private func improveLateReports() async {
    let reanalysis = Reanalysis(analysis)
    for await late in analysis.caches.lateReports where !state.withLock({ $0.isStopping }) {
      await improve(late, reanalysis)
    }
  }

  private func improve(_ late: LateReport, _ reanalysis: Reanalysis) async {
    // Another task can change the report at the same time, for example because of another crash or an unwind
    // cross-check. The report that the other task stores can lack the new symbols. In this case, the loop tries again.
    for attempt in 1...Self.improvements {
      do throws(Reanalysis.Failure) {
        _ = try await reanalysis.run(idPrefix: late.id, for: late.user, visibility: .all, waits: true)
        return
      } catch {
        if error == .changed && attempt < Self.improvements { continue }
        // It is not an error if the report was removed from the store in the meantime.
        analysis.logger.debug("report \(late.id) stays without its late symbols: \(error)")
        return
      }
    }
  }
}
