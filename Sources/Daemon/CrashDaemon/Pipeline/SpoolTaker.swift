import CrashRing
import CrashStore
import LinuxSystem
import Logging

/// Reads the rings that processes have left in the spool directory, one file at a time.
actor SpoolTaker {
  nonisolated let spool: SpoolDirectory
  private let analysis: CrashAnalysis
  private let limits: Limits
  /// The rings of attached processes, whose spool files the pipeline handles.
  private let rings: RingTable
  private let unwindings: SecondUnwindings
  private var spooled: Set<String> = []
  private var isSpoolBusy = false
  /// Whether the last listing of the spool was truncated.
  private var isListFull = false
  /// The number of files that were removed or failed, and therefore need no further reading.
  private var settledFiles = 0
  /// Files that could not be read, and that have not changed since then.
  ///
  /// They are skipped, because another reading would fail again. They are read again when the store has failed and
  /// recovered.
  private var failedFiles: [String: SpoolDirectory.FileIdentity] = [:]
  /// Names of files that could not be opened because crashd lacked a resource.
  ///
  /// The set ensures that each of these files is logged only once.
  private var toldFiles: Set<String> = []
  /// The files to read again after a change of the store, and the value of `leavings` when that pass began.
  private var pass: (names: Set<String>, leavings: UInt64?)?
  private var taking: Task<Void, Never>?
  private var isStopping = false
  /// The time when foreign and excess files were last removed, and whether the directory must be checked again.
  private var tidied_ns: UInt64 = 0
  private var isTidyingDue = false

  init(analysis: CrashAnalysis, spool: SpoolDirectory, rings: RingTable, unwindings: SecondUnwindings) {
    self.analysis = analysis
    self.spool = spool
    self.rings = rings
    self.unwindings = unwindings
    limits = analysis.limits
  }

  /// Stops reacting to changes of the store.
  func stop() { isStopping = true }

  /// Returns when all requested files have been read.
  func finish() async { await taking?.value }
}

// Reactions to changes in the health of the store.
extension SpoolTaker {
  /// Reads all files again.
  ///
  /// If the store has recovered, files that failed earlier are included.
  ///
  /// Returns before the files are read, because new files may keep arriving.
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

// Removal of foreign files and files beyond the quota.
extension SpoolTaker {
  private static let betweenTidyings_ms = 1_000
  /// The directory is checked again after this time, because inotify does not report that a partially written file
  /// grows.
  private static let whileWritten_ms = 10_000

  /// Removes foreign files and files beyond the quota.
  ///
  /// It runs at most once a second. Calls in between are combined into one more run.
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

// Reading of spool files.
extension SpoolTaker {
  /// Reads a file if it exists.
  ///
  /// The check is not isolated to this actor. In a storm of crashes hardly any such file exists, and a caller that
  /// waits for the actor would keep its ring mapped.
  nonisolated func takeIfThere(_ name: String) async {
    if spool.identity(of: name) != nil { await take([name]) }
  }

  /// Reads the named files, or all files of the spool if `names` is nil.
  ///
  /// Across all callers, only one file is read at a time.
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
      // If the listing was truncated, continue with the remaining files as long as files leave the spool.
      guard isListFull, settledFiles != before else { break }
      queueSpool(nil)
    } while !spooled.isEmpty
    isSpoolBusy = false
  }

  /// - Returns: False if the spool cannot be read.
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

  /// Whether the file must not be read here.
  ///
  /// Either an attached process has the same ring, and the pipeline removes the file when that process ends. Or the
  /// report already waits in memory.
  private func isTakenCareOf(_ name: String) -> Bool {
    guard let id = SpoolDirectory.ringID(of: name) else { return false }
    guard let user = spool.owner(of: name) else { return false }
    return rings.contains(RingKey(id: id, user: user)) || analysis.outage.isHolding(report: id, of: user)
  }

  private func takeSpoolFile(_ name: String) async {
    guard !isTakenCareOf(name), let file = spool.identity(of: name), failedFiles[name] != file else { return }
    // The ring stays open until this function returns, so that the file system cannot give its inode number to a new
    // file.
    var left: AttachedProcess?
    defer { withExtendedLifetime(left) {} }
    do throws(SpoolRefusal) {
      left = try spool.open(name)
      guard let left else { return }
      guard await take(left, name, file) else { return }
    } catch {
      // If crashd lacks a resource, the file is read again later. Such a failure is logged once per file.
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
    // A running process may have replaced the file in the meantime. The inotify watch reports the new file. A file that
    // its owner changed in place is read after the next listing.
    guard spool.identity(of: name) == file else { return }
    do throws(SystemError) {
      try spool.remove(name)
      settledFiles += 1
    } catch {
      analysis.logger.warning("\(error), ignoring")
      leave(name, file)
    }
  }

  /// Leaves the file in the spool, and skips it until it changes.
  private func leave(_ name: String, _ file: SpoolDirectory.FileIdentity) {
    guard failedFiles.count < limits.spoolFiles else { return }
    failedFiles[name] = file
    settledFiles += 1
  }

  /// Stores the contents of a file, unless everything in it is already stored.
  /// - Returns: False if the contents are not stored yet. The file then stays in the spool for a later reading or
  ///   the next start of crashd.
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
