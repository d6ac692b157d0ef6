import CrashReport
import CrashRing
import CrashStore
import LinuxSystem

// Stores the crashes in record lines, which processes printed because they could reach no crashd.
extension CrashAnalysis {
  /// Why crashd did not store a record line.
  enum ImportFailure: Error {
    case line(RecordLineError)
    case store(StoreError)
    case system(String)
  }

  /// Stores the crash in a record line as a crash of `user`, unless the store already has the crash.
  ///
  /// - Returns: The ID of the report, and whether the call stored it.
  func importRecord(
    _ text: String, for user: UInt32
  ) async throws(ImportFailure) -> (id: String, isNew: Bool) {
    var process = try Self.process(of: text, for: user, numbered: nil)
    // A process may survive a crash and print another line. The reports of its later crashes need other IDs.
    if let other = imported(process.facts), other != Self.moment(of: process) {
      process = try Self.process(of: text, for: user, numbered: Self.moment(of: process))
    }
    switch await compare(process) {
    case .stored: return (process.facts.identity.ringID, false)
    case .unknown(let error): throw .store(error)
    case .news(let process):
      // The caller has the line and can repeat the call, so the record is treated as a spool file.
      switch await analyse(SpooledFile(process: process)) {
      case .stored(let id, _), .held(let id, _): return (id, true)
      case .nothingNew: return (process.facts.identity.ringID, false)
      case .unanswered(let error): throw .store(error)
      case .failed: throw .system("the report could not be stored: see crashd's log")
      }
    }
  }

  /// Makes the process that printed a line.
  ///
  /// With a `number`, the process gets another ID for its report, which depends on the number.
  private static func process(
    of text: String, for user: UInt32, numbered number: UInt64?
  ) throws(ImportFailure) -> AttachedProcess {
    let line: RecordLine
    let contents: RingContents
    do throws(RecordLineError) {
      line = try RecordLine(text)
      contents = try line.contents()
    } catch {
      throw .line(error)
    }
    do {
      let file = try MemoryFile(size: RingVersion.current.bytes)
      for piece in line.pieces { try file.write(piece.bytes, at: piece.offset) }
      // The kernel confirmed neither the process nor its user. The report therefore belongs to the caller.
      var facts = ProcessFacts(contents, peer: Peer(pid: contents.identity.pid, uid: user), unit: nil)
      (facts.isPIDClaimed, facts.isImported, facts.cut) = (true, true, line.cut)
      // The crash may be older than the last boot of this machine, and happened on another machine.
      facts.times = TimeBounds()
      if let number { facts.identity.ringID = derived(facts, Int(truncatingIfNeeded: number)) }
      return AttachedProcess(number: 0, facts: facts, ring: try RingSource(file: file.descriptor))
    } catch {
      throw .system("\(error)")
    }
  }

  /// The time of the crash in the imported report that has the ID of the process's ring; nil if there is no such report.
  private func imported(_ facts: ProcessFacts) -> UInt64? {
    guard let (_, old, raw) = try? store.reportAndRaw(idPrefix: facts.identity.ringID, visibility: .all),
      old.source == .recordLine, old.process.uid == Int(facts.peer.uid),
      let process = try? Reanalysis.process(of: old, raw: raw)
    else { return nil }
    return Self.moment(of: process)
  }

  /// The time of the last crash of a process, as its ring states it.
  private static func moment(of process: AttachedProcess) -> UInt64 {
    process.ring.contents().records.map(\.time_ns).max() ?? 0
  }
}
