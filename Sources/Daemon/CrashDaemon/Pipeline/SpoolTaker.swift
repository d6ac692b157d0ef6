import CrashReport
import CrashRing
import CrashStore
import LinuxSystem
import Logging

/// Reads the copies of rings (crash records) that crashed processes have left in the spool directory.
actor SpoolTaker {
  nonisolated let spool: SpoolDirectory
  private let analysis: CrashAnalysis
  private let limits: Limits
  /// The rings of attached processes.
  ///
  /// The pipeline handles the spool files of these rings, so this actor does not read them.
  private let rings: RingTable
  private let unwindings: SecondUnwindings
  private var spooled: Set<String> = []
  private var isSpoolBusy = false
  /// Whether the last listing of the spool was truncated.
  private var isListFull = false
  /// The number of files that need no further reading, because they were removed or could not be read.
  private var settledFiles = 0
  /// Files that crashd could not read, and that have not changed since then.
  ///
  /// These files are skipped, because another reading would fail again. The files are read again after the store has
  /// failed and recovered.
  private var failedFiles: [String: SpoolDirectory.FileIdentity] = [:]
  /// The names of the files that crashd could not open because it lacked a resource, such as a free descriptor.
  ///
  /// The set ensures that this failure is logged only once for each file.
  private var toldFiles: Set<String> = []
  /// The current reading of files that an earlier reading left in the spool.
  ///
  /// It begins when the store works again, or when a retry is due. `names` contains the files that are not read again
  /// yet. `leavings` is how often crashd had left a file in the spool when this reading began.
  private var pass: (names: Set<String>, leavings: UInt64?)?
  private var taking: Task<Void, Never>?
  private var isStopping = false
  /// The time at which the last removal of foreign and excess files began; `isTidyingDue` is whether another removal is
  /// scheduled.
  private var tidied_ns: UInt64 = 0
  private var isTidyingDue = false

  init(analysis: CrashAnalysis, spool: SpoolDirectory, rings: RingTable, unwindings: SecondUnwindings) {
    self.analysis = analysis
    self.spool = spool
    self.rings = rings
    self.unwindings = unwindings
    limits = analysis.limits
  }

  /// Ensures that later changes in the health of the store begin no reading of spool files.
  func stop() { isStopping = true }

  /// Returns when all files whose reading was requested have been read.
  func finish() async { await taking?.value }
}

// Handles changes in the health of the store.
extension SpoolTaker {
  /// Reads all files in the spool again.
  ///
  /// If the store has recovered (`isWell`), files that could not be read earlier are included.
  ///
  /// The method returns before the files are read, because new files can keep arriving.
  func takeLeft(isWell: Bool) {
    if isWell { failedFiles = [:] }
    guard !isStopping, pass == nil else { return }
    let leavings = analysis.outage.leavings
    guard queueSpool(nil) else { return }
    pass = (spooled, leavings)
    if !isSpoolBusy { taking = Task { await take([]) } }
    endPassIfDone()
  }

  private func endPassIfDone() {
    guard let pass, pass.names.isEmpty else { return }
    self.pass = nil
    analysis.outage.readLeftFiles(since: pass.leavings)
  }
}

// Removes foreign files, which the library never creates, and the files that exceed a user's quota.
extension SpoolTaker {
  private static let betweenTidyings_ms = 1_000
  /// The time after which the directory is checked again while it contains a partial file, because inotify does not
  /// report that a file grows.
  private static let whileWritten_ms = 10_000

  /// Removes foreign files and the files that exceed a quota.
  ///
  /// Files are removed at most once a second. A call within a second of the last removal schedules one later removal.
  /// Further calls before that removal do nothing.
  private func tidy() {
    guard !isTidyingDue else { return }
    let now = Moment.monotonic_ns()
    if tidied_ns != 0, now - tidied_ns < UInt64(Self.betweenTidyings_ms) * 1_000_000 {
      tidy(after_ms: Self.betweenTidyings_ms)
      return
    }
    tidied_ns = now
    let found: SpoolDirectory.Tidying
    do throws(SystemError) { found = try spool.tidy(limits) } catch {
      analysis.logger.error("cannot tidy the spool directory: \(error)")
      return
    }
    for (name, owner) in found.foreign {
      let reason = "'\(CleanName.of(name))' is not the name of a spool file, and was removed"
      analysis.ledger.refuse("spool file", from: Peer(pid: 0, uid: owner), because: reason)
    }
    for (owner, count) in found.excess {
      analysis.ledger.lose(["spool": count], of: Peer(pid: 0, uid: owner), process: "spool files beyond the quota")
    }
    if found.hasPartial { tidy(after_ms: Self.whileWritten_ms) }
  }

  private func tidy(after_ms delay: Int) {
    guard !isTidyingDue, !isStopping else { return }
    isTidyingDue = true
    Task { [weak self] in
      try? await Task.sleep(for: .milliseconds(delay))
      await self?.tidyAsAsked()
    }
  }

  private func tidyAsAsked() {
    isTidyingDue = false
    if !isStopping { tidy() }
  }
}

// Reads spool files.
extension SpoolTaker {
  /// Reads the file with the given name if the file exists.
  ///
  /// This actor does not check whether the file exists; the caller's thread does. If many processes crash at once,
  /// hardly any of these files exists, and a caller that waits for the actor would keep its ring mapped.
  nonisolated func takeIfThere(_ name: String) async {
    if spool.identity(of: name) != nil { await take([name]) }
  }

  /// Reads the files with the given names, or all files of the spool if `names` is nil.
  ///
  /// Even with several concurrent callers, only one file is read at a time.
  func take(_ names: [String]?) async {
    tidy()
    queueSpool(names)
    guard !isSpoolBusy else { return }
    isSpoolBusy = true
    repeat {
      let before = settledFiles
      while let name = spooled.popFirst() {
        await takeSpoolFile(name)
        pass?.names.remove(name)
        endPassIfDone()
      }
      // If the listing was truncated, read the remaining files, as long as at least one file was removed or could not
      // be read.
      guard isListFull, settledFiles != before else { break }
      queueSpool(nil)
    } while !spooled.isEmpty
    isSpoolBusy = false
  }

  /// Queues the files with the given names for reading, or all files of the spool if `names` is nil.
  ///
  /// - Returns: The result is false if the spool cannot be read.
  @discardableResult
  private func queueSpool(_ names: [String]?) -> Bool {
    if names == nil { failedFiles = failedFiles.filter { spool.identity(of: $0) == $1 } }
    do {
      let found = try names ?? spool.list(limit: limits.spoolFiles, except: Set(failedFiles.keys))
      if names == nil { isListFull = found.count >= limits.spoolFiles }
      spooled.formUnion(found)
      return true
    } catch {
      analysis.logger.error("cannot read the spool directory: \(error)")
      return false
    }
  }

  /// Whether another part of crashd handles the file, so that this actor must not read it.
  ///
  /// If an attached process has the same ring, the pipeline removes the file when this process ends. Otherwise, the
  /// report of the ring already waits in memory.
  private func isTakenCareOf(_ name: String) -> Bool {
    guard let id = SpoolDirectory.ringID(of: name) else { return false }
    guard let user = spool.owner(of: name) else { return false }
    return rings.contains(RingKey(id: id, user: user)) || analysis.outage.isHolding(report: id, of: user)
  }

  private func takeSpoolFile(_ name: String) async {
    guard !isTakenCareOf(name), let file = spool.identity(of: name), failedFiles[name] != file else { return }
    // Hold the ring's file open until this function returns, so that the file system cannot reuse its inode number for
    // a new file.
    var left: AttachedProcess?
    defer { withExtendedLifetime(left) {} }
    do throws(SpoolRefusal) {
      left = try spool.open(name)
      guard let left else { return }
      guard await take(left, name, file) else { return }
      await countHealth(of: left)
    } catch {
      // If crashd lacks a resource, it reads the file again later. This failure is logged once for each file.
      if error.isPassing {
        analysis.outage.leaveFile()
        guard toldFiles.count < limits.spoolFiles, toldFiles.insert(name).inserted else { return }
      }
      if error.isLoss {
        analysis.ledger.lose(["spool": 1], of: error.owner, process: CleanName.of(name))
      } else {
        analysis.ledger.refuse("spool file", from: error.owner, because: "'\(CleanName.of(name))' \(error.reason)")
      }
      if error.isPassing { return }
    }
    toldFiles.remove(name)
    // A running process could have replaced the file while crashd read it. In this case, inotify reports the new file.
    // If the owner changed the file in place, crashd reads it after the next listing of the spool.
    guard spool.identity(of: name) == file else { return }
    do throws(SystemError) {
      try spool.remove(name)
      settledFiles += 1
    } catch {
      analysis.logger.warning("\(error), ignoring")
      leave(name, file)
    }
  }

  /// Counts the crash for the health of its build.
  ///
  /// A file that is read again counts once.
  private func countHealth(of left: AttachedProcess) async {
    guard let health = analysis.health, let stored = try? analysis.store.report(idPrefix: left.facts.identity.ringID),
      let time_ns = (try? stored.report.time).flatMap({ Timestamp.nanoseconds(rfc3339: $0) })
    else { return }
    await health.spooled(left, crash_ns: time_ns)
  }

  /// Leaves the file in the spool, and skips it until the file changes.
  private func leave(_ name: String, _ file: SpoolDirectory.FileIdentity) {
    guard failedFiles.count < limits.spoolFiles else { return }
    failedFiles[name] = file
    settledFiles += 1
  }

  /// Stores the contents of a file, unless the store already has all of them.
  /// - Returns: The result is false if the contents could not be stored. In this case, the file stays in the spool for
  ///   a later reading or the next start of crashd.
  private func take(_ left: AttachedProcess, _ name: String, _ file: SpoolDirectory.FileIdentity) async -> Bool {
    switch await analysis.compare(left) {
    case .stored: return true
    case .unknown(let error):
      analysis.outage.leaveFile(because: error)
      return false
    case .news(let process):
      switch await analysis.analyse(SpooledFile(process: process)) {
      case .unanswered(let error):
        analysis.outage.leaveFile(because: error)
        return false
      case .held: return false
      case .failed:
        leave(name, file)
        return false
      case .nothingNew: return true
      case .stored(let id, _):
        unwindings.start(process, report: id)
        return true
      }
    }
  }
}
