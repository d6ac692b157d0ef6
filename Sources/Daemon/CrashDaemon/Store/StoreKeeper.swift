import CrashReport
import CrashStore
import LinuxSystem
import Logging
import ServiceLifecycle

/// Maintains the store: applies retention, retries failed reports, and repairs a corrupt database.
actor StoreKeeper: Service {
  struct Configuration: Sendable {
    var analysis: CrashAnalysis
    var settings: LiveSettings
    /// The directory of the store; retention keeps a part of its file system free.
    var directory: String
    /// The systemd status line, which shows an outage of the store; nil if crashd has no status line.
    var status: StatusLine?
    var descriptors: DescriptorStore?
    /// The corrupt database that crashd set aside when it started; nil if there was none.
    var setAside: ReportStore.SetAside?
    /// Creates the directories of the store if they do not exist.
    var makeDirectories: @Sendable () -> Void = {}
    /// The heartbeat of the store keeper for the watchdog.
    var heartbeat = Heartbeat("store")
  }

  private static let hour_ms = 3_600_000
  /// The interval at which the store keeper checks that the database file still exists and was not replaced.
  private static let betweenComparisons_ms = 60_000
  private static let firstRetry_ms = 500
  private static let longestRetry_ms = 30_000
  private static let betweenLooks_ms = 250

  private let configuration: Configuration
  private let store: ReportStore
  private let outage: StoreOutage
  private let logger: Logger
  private var retry_ms = StoreKeeper.firstRetry_ms
  /// The time at which crashd next reads the files that an earlier reading left in the spool directory.
  private var nextPass_ns: UInt64 = 0
  private var clock = ClockWatch()
  private var hasDoubtedClock = false
  private var isFailing = false

  init(_ configuration: Configuration) {
    self.configuration = configuration
    store = configuration.analysis.store
    outage = configuration.analysis.outage
    logger = configuration.analysis.logger
    configuration.heartbeat.rest()
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { await self.work() }
    // After the loop ended, no other task stores reports, so store the reports that wait in memory now. Files that were
    // left in the spool stay there for the next crashd.
    await keepOpen()
    if storeHeld() { outage.publish(StoreOutage.Change(isWell: false)) }
    let lost = outage.count
    guard lost > 0 else { return }
    logger.critical("\(lost) reports were never stored: \(outage.sentences.first ?? "")")
    while let item = outage.first {
      configuration.analysis.ledger.lose(["store": 1], of: item.owner, process: item.process)
      _ = outage.release(item.report.id)
    }
  }

  private func work() async {
    let news = configuration.analysis.hub.news()
    let (outage, store) = (outage, store)
    let forwarding = Task {
      for await _ in news {
        outage.wake()
        // One iteration handles all events that occur during the sleep. If many processes crash at once, one iteration
        // for each event would cost as much as storing the reports.
        try await Task.sleep(for: .milliseconds(Self.betweenLooks_ms))
      }
    }
    defer { forwarding.cancel() }
    if let aside = configuration.setAside { await rescue(aside) }
    if store.isOpen { await check() }
    outage.wake()
    var wakeUps = outage.wakeUps.makeAsyncIterator()
    let comparing = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .milliseconds(Self.betweenComparisons_ms))
        if store.displacement() != nil { outage.wake() }
      }
    }
    defer { comparing.cancel() }
    while !Task.isCancelled {
      let isWaiting = outage.count > 0 || outage.leavings != nil || !store.isOpen || store.displacement() != nil
      let delay = isWaiting ? retry_ms : Self.hour_ms
      let alarm = Task {
        try await Task.sleep(for: .milliseconds(delay))
        outage.wake()
      }
      defer { alarm.cancel() }
      configuration.heartbeat.rest()
      guard await wakeUps.next() != nil else { return }
      await look()
    }
  }

  private func look() async {
    configuration.heartbeat.beat()
    if let corruption = outage.takeCorruption() { await startAnew(because: corruption) }
    await keepOpen()
    if store.isOpen { await retain() }
    let isStored = storeHeld()
    let isWell = recover()
    tell()
    // While reports wait in memory, do not read spool files, because the store would not accept their reports, either.
    let isDue = outage.count == 0 && outage.leavings != nil && Moment.monotonic_ns() >= nextPass_ns
    if isDue {
      nextPass_ns = Moment.monotonic_ns() + UInt64(retry_ms) * 1_000_000
      retry_ms = min(retry_ms * 2, Self.longestRetry_ms)
    }
    if isStored || isWell || isDue { outage.publish(StoreOutage.Change(isWell: isWell)) }
  }

  /// Stores the reports that wait in memory, oldest first.
  /// - Returns: Whether at least one report no longer waits, because it was stored or can never be stored.
  private func storeHeld() -> Bool {
    var isStored = false
    while let item = outage.first {
      configuration.heartbeat.beat()
      do throws(StoreError) {
        _ = try store.put(item.report, raw: item.raw, knownAs: item.ownPID)
      } catch {
        if error.isOutage {
          outage.note(error)
          retry_ms = min(retry_ms * 2, Self.longestRetry_ms)
          break
        }
        // The store rejects this report permanently, for example because another report now has the ID. Do not try
        // again.
        logger.error("cannot store report \(item.report.id): \(error)")
        configuration.analysis.ledger.lose(["store": 1], of: item.owner, process: item.process)
      }
      isStored = true
      guard let done = outage.release(item.report.id) else { continue }
      if let name = done.keptName, done.mayForget { configuration.descriptors?.forget(name) }
      configuration.analysis.ledger.report(
        done.report.id, of: done.owner, process: done.process, sentence: done.report.diagnosis.sentence)
    }
    if isStored { configuration.analysis.hub.notify() }
    return isStored
  }

  /// If no report or file waits any more, records that the store has recovered.
  ///
  /// - Returns: Whether the store had failed before.
  private func recover() -> Bool {
    guard store.isOpen, store.displacement() == nil, outage.count == 0, outage.leavings == nil else { return false }
    (retry_ms, nextPass_ns) = (Self.firstRetry_ms, 0)
    return outage.recovered()
  }

  /// Logs the beginning of an outage at level critical, and its end at level notice.
  private func tell() {
    let isWrong =
      outage.count > 0 || !store.isOpen || store.displacement() != nil
      || (outage.leavings != nil && outage.isFailing)
    guard isWrong != isFailing else { return }
    isFailing = isWrong
    let sentence = outage.sentences.first ?? ""
    if isWrong { logger.critical("\(sentence)") } else { logger.notice("reports can be stored again") }
    configuration.status?.note(outage: isWrong ? sentence : nil)
  }
}

// Applies retention.
extension StoreKeeper {
  private func retain() async {
    let policy = configuration.settings.current.retention
    let now = Moment.now().nanoseconds
    let isTrusted = clock.isTrusted(real: now, boot: ClockWatch.boot_ns())
    if isTrusted == hasDoubtedClock {
      hasDoubtedClock = !isTrusted
      if !isTrusted { logger.warning("the clock jumped forward: no report is removed because of its age for an hour") }
    }
    do throws(StoreError) {
      var counts: [String: Int] = [:]
      while let step = try store.retain(
        policy, now_ns: now, keepsOld: !isTrusted,
        freeBytes: FileSystemSpace.freeBytes(at: configuration.directory),
        readers: configuration.analysis.hub.slowestReader)
      {
        configuration.heartbeat.beat()
        if case .removed(let count, let reason) = step { counts[reason.rawValue, default: 0] += count }
        // Let other tasks run, because storing crashes is more important than retention.
        await Task.yield()
      }
      try store.forgetHistory(policy, now_ns: now)
      guard !counts.isEmpty else { return }
      configuration.analysis.ledger.count(removed: counts)
      let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      logger.debug("retention has removed reports: \(list)")
    } catch {
      if error.isCorruption {
        await startAnew(because: error.description)
      } else {
        // The disk can be full, and removing reports also needs disk space. Log only a warning, because another method
        // logs an outage at level critical.
        logger.warning("cannot maintain the store: \(error)")
      }
    }
  }
}

// Opens the database again if it is not open, or copies it to a new file if its file was removed or replaced.
extension StoreKeeper {
  private func keepOpen() async {
    do throws(StoreError) {
      if !store.isOpen { return try await open() }
      guard let what = store.displacement() else { return }
      try await writeAnew(because: what)
    } catch {
      outage.note(error)
      retry_ms = min(retry_ms * 2, Self.longestRetry_ms)
    }
  }

  private func open() async throws(StoreError) {
    let aside = try store.openAgain(at: Moment.now().description)
    logger.notice("'\(store.path)' is open now")
    await configuration.analysis.policy?.load()
    if let aside { await rescue(aside) } else { await check() }
    configuration.analysis.hub.notifyOfNewStore()
  }

  /// Writes the contents of the open database to a new file.
  ///
  /// A new file is needed if the file of the open database was removed or replaced. Otherwise, the contents of the
  /// database would be lost when crashd ends.
  private func writeAnew(because what: String) async throws(StoreError) {
    logger.critical("'\(store.path)': \(what); copying the open database to a new file")
    // Copying a large database can take minutes. Tell the watchdog not to expect a heartbeat during this time.
    configuration.heartbeat.rest()
    defer { configuration.heartbeat.beat() }
    let (store, time) = (store, Moment.now().description)
    configuration.makeDirectories()
    let aside = try await onThread(named: "copy") { () throws(StoreError) in try store.writeAnew(at: time) }
    let kept = aside.map { "; the file put in its place is kept as '\($0)'; stop crashd before replacing it" } ?? ""
    let sentence = "the report database '\(store.path)': \(what); the open database was copied to a new file\(kept)"
    outage.note(sentence)
    logger.critical("\(sentence)")
  }

  /// Runs work on a dedicated thread.
  ///
  /// A dedicated thread is needed because the work takes minutes and Swift's thread pool has only a few threads.
  private func onThread<Value: Sendable>(
    named name: String, _ work: @escaping @Sendable () throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        do throws(StoreError) { continuation.resume(returning: .success(try work())) } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      // If the system cannot start a thread, the work runs on the current thread.
      do throws(SystemError) { try Thread.start(named: name, body) } catch { body() }
    }
    return try result.get()
  }
}

// Recovers from a corrupt database.
extension StoreKeeper {
  /// Reads and checks the whole database once after crashd started, on a dedicated thread.
  private func check() async {
    let store = store
    let problem: String? = await withCheckedContinuation { continuation in
      let look: @Sendable () -> Void = {
        do throws(StoreError) { continuation.resume(returning: try store.check()) } catch {
          continuation.resume(returning: error.isCorruption ? error.description : nil)
        }
      }
      do throws(SystemError) { try Thread.start(named: "check", look) } catch { continuation.resume(returning: nil) }
    }
    if let problem { await startAnew(because: "'\(store.path)' is corrupt: \(problem)") }
  }

  private func startAnew(because reason: String) async {
    // Reading a large database can take minutes. Therefore, tell the watchdog not to expect a heartbeat during this
    // time.
    configuration.heartbeat.rest()
    defer { configuration.heartbeat.beat() }
    do throws(StoreError) {
      await rescue(try store.startAnew(because: reason, at: Moment.now().description))
    } catch {
      logger.critical("\(reason), and it cannot be set aside: \(error)")
    }
  }

  private func rescue(_ aside: ReportStore.SetAside) async {
    logger.critical("\(aside.reason): it is set aside as '\(aside.path)', and a new database is created")
    do throws(StoreError) {
      let store = store
      let rescued = try await onThread(named: "rescue") { () throws(StoreError) in try store.rescue(aside) }
      var analysed = 0
      for orphan in rescued.orphans where await configuration.analysis.restore(orphan) { analysed += 1 }
      let what =
        rescued.isReadable
        ? """
        \(rescued.reports) of its reports were recovered, \(analysed) were rebuilt from raw records, \
        \(rescued.unreadable) could not be read
        """ : "nothing in it could be read"
      let cursors = aside.keepsCursors ? "" : "; earlier cursors are no longer valid"
      let sentence = "the report database was corrupt and is kept as '\(aside.path)': \(what)\(cursors)"
      outage.note(sentence)
      logger.critical("\(sentence)")
      configuration.analysis.hub.notifyOfNewStore()
    } catch {
      outage.note("the report database was corrupt and is kept as '\(aside.path)'; recovery is incomplete: \(error)")
      outage.note(error)
    }
  }
}
