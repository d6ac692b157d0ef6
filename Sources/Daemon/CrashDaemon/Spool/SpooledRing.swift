import CrashReport
import CrashRing
import CrashStore

/// The result of comparing a ring in the spool with its stored report.
///
/// A process may both announce its crash and leave its ring in the spool. If crashd was killed, it may have stored this
/// ring, or an earlier state of it, without removing the file.
enum SpooledRing: Sendable {
  /// The store has everything that is in the ring.
  case stored
  /// The store lacks at least a part of the ring.
  ///
  /// The associated value is the process with the facts that are known about it.
  case news(AttachedProcess)
  /// The store is failing, so the comparison is not possible.
  case unknown(StoreError)

  /// Whether the ring contains anything that the stored report lacks.
  static func hasNews(_ found: CrashAnalysis.Seen, beside stored: CrashAnalysis.Seen) -> Bool {
    var generations: [UInt64: UInt64] = [:]
    for record in stored.records where record.count == 2 { generations[record[0]] = record[1] }
    // If a slot of the ring was reused after the file was written, the file contains the older generation of that slot.
    let hasRecord = found.records.contains { record in
      record.count == 2 && generations[record[0]].map { $0 < record[1] } ?? true
    }
    // If the file has no new record, it has news only if it has the same crash with more threads of the sweep.
    return hasRecord || (found.records == stored.records && found.threads.count > stored.threads.count)
  }
}

extension CrashAnalysis {
  /// Compares a spooled ring with the stored report that has the same id and owner.
  func compare(_ process: AttachedProcess) async -> SpooledRing {
    let facts = process.facts
    let (old, raw): (CrashReport, [UInt8])
    do throws(StoreError) {
      (_, old, raw) = try stored(facts)
    } catch {
      // Any other error occurs again when the ring is stored, and is counted then.
      return error.isOutage ? .unknown(error) : .news(process)
    }
    // An equal id does not prove that it is the same ring, because a process of another user may have chosen that id.
    guard old.process.uid == Int(facts.peer.uid) else { return .news(process) }
    if let before = try? Reanalysis.process(of: old, raw: raw),
      !SpooledRing.hasNews(Seen(read(process, isFinal: true)), beside: Seen(read(before, isFinal: true)))
    {
      return .stored
    }
    // The pid, unit, privileges and context are known only from a connection. A spool file does not contain them, so
    // they are copied from the report.
    var known = facts
    known.peer.pid = Int32(clamping: old.process.pid)
    known.unit = old.process.unit
    known.context = ProcessContext(old)
    known.isPIDClaimed = old.process.isPIDClaimed == true
    known.isRestricted = facts.isRestricted || old.process.isRestricted == true
    return .news(AttachedProcess(number: 0, facts: known, ring: process.ring))
  }

  /// Returns the report with the ring's id, even if its user may not read it.
  ///
  /// The report of a restricted process is visible only to root. Retries if the report changes during the call, for
  /// example when late symbols or an unwind cross-check rebuild it.
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
