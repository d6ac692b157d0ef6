import CrashReport
import CrashRing
import CrashStore

/// The result of comparing a ring (crash records), which a process left in the spool directory, with its stored report.
///
/// A process can both announce its crash and leave its ring in the spool. A crashd that was killed could have stored
/// this ring, or an earlier state of the ring, without removing the file.
enum SpooledRing: Sendable {
  /// The store has all contents of the ring.
  case stored
  /// The store lacks at least a part of the ring.
  ///
  /// The associated value is the process, with the facts that are known about it from the report.
  case news(AttachedProcess)
  /// The store fails, so the comparison is not possible.
  case unknown(StoreError)

  /// Whether the ring contains anything that the stored report lacks.
  static func hasNews(_ found: CrashAnalysis.Seen, beside stored: CrashAnalysis.Seen) -> Bool {
    var generations: [UInt64: UInt64] = [:]
    for record in stored.records where record.count == 2 { generations[record[0]] = record[1] }
    // If a slot of the ring (the place for one record) was reused after the file was written, the file contains the
    // earlier record of this slot.
    let hasRecord = found.records.contains { record in
      record.count == 2 && generations[record[0]].map { $0 < record[1] } ?? true
    }
    // If the file has no new record, the file contains something new only if it contains the same crash with the stacks
    // of more threads.
    return hasRecord || (found.records == stored.records && found.threads.count > stored.threads.count)
  }
}

extension CrashAnalysis {
  /// Compares a spooled ring with the stored report that has the same ID and owner.
  func compare(_ process: AttachedProcess) async -> SpooledRing {
    let facts = process.facts
    let (old, raw): (CrashReport, [UInt8])
    do throws(StoreError) {
      (_, old, raw) = try stored(facts)
    } catch {
      // Any error that is not an outage occurs again when the ring is stored, and is counted at that time.
      return error.isOutage ? .unknown(error) : .news(process)
    }
    // An equal ID does not prove that the rings are the same, because a process of another user could have chosen this
    // ID.
    guard old.process.uid == Int(facts.peer.uid) else { return .news(process) }
    // A report with a source comes from an imported record line (a crash record as text), which contains only a part of
    // the ring. Therefore, a report of the whole ring replaces this report.
    if old.source != nil { return .news(process) }
    if let before = try? Reanalysis.process(of: old, raw: raw),
      !SpooledRing.hasNews(Seen(read(process, isFinal: true)), beside: Seen(read(before, isFinal: true)))
    {
      return .stored
    }
    // crashd can determine the pid, the unit, the privileges and the context only for an attached process. A spool file
    // does not contain these facts, so they are copied from the stored report.
    var known = facts
    known.peer.pid = Int32(clamping: old.process.pid)
    known.unit = old.process.unit
    known.context = ProcessContext(old)
    known.isPIDClaimed = old.process.isPIDClaimed == true
    known.isRestricted = facts.isRestricted || old.process.isRestricted == true
    return .news(AttachedProcess(number: 0, facts: known, ring: process.ring))
  }

  /// Returns the stored report with the ring's ID, even if the user of the ring is not allowed to read the report.
  ///
  /// For example, only clients with access to all reports are allowed to read the report of a process with more
  /// privileges than its user. The function tries again if the report changes during the call, for example because late
  /// symbols or an unwind cross-check rebuild it.
  private func stored(_ facts: ProcessFacts) throws(StoreError) -> (StoreCursor, CrashReport, [UInt8]) {
    for _ in 1..<4 {
      do throws(StoreError) {
        return try store.reportAndRaw(idPrefix: facts.identity.ringID, visibility: .all)
      } catch .changedMeanwhile {
        continue
      }
    }
    return try store.reportAndRaw(idPrefix: facts.identity.ringID, visibility: .all)
  }
}
