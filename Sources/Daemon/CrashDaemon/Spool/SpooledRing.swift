import CrashReport
import CrashRing
import CrashStore

/// The result of comparing a ring in the spool with its stored report.
///
/// A process that has announced its crash also leaves its ring in the spool. If crashd was killed, it may have stored
/// the ring, or an earlier state of the ring, without removing the file.
enum SpooledRing: Sendable {
  /// The store has everything in the ring.
  case stored
  /// The store has only part of the ring, or nothing.
  ///
  /// The associated value has the known facts of the process.
  case news(AttachedProcess)
  /// The store is failing, and the comparison is not possible.
  case unknown(StoreError)

  /// Whether the ring contains anything that the stored report lacks.
  static func hasNews(_ found: CrashAnalysis.Seen, beside stored: CrashAnalysis.Seen) -> Bool {
    var generations: [UInt64: UInt64] = [:]
    for record in stored.records where record.count == 2 { generations[record[0]] = record[1] }
    // If a slot was reused after the file was written, the file has the older generation.
    let hasRecord = found.records.contains { record in
      record.count == 2 && generations[record[0]].map { $0 < record[1] } ?? true
    }
    // Otherwise the file has news only if it has the same crash with more threads of the sweep.
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
      // Any other error occurs again when the ring is stored, and is counted at that time.
      return error.isOutage ? .unknown(error) : .news(process)
    }
    // The id alone is no proof, because a process of another user may have chosen the same id.
    guard old.process.uid == Int(facts.peer.uid) else { return .news(process) }
    if let before = try? Reanalysis.process(of: old, raw: raw),
      !SpooledRing.hasNews(Seen(read(process, isFinal: true)), beside: Seen(read(before, isFinal: true)))
    {
      return .stored
    }
    // A connection provides the pid, unit, privileges and context. A file provides none of them, so they come from the
    // report.
    var known = facts
    known.peer.pid = Int32(clamping: old.process.pid)
    known.unit = old.process.unit
    known.context = ProcessContext(old)
    known.isPIDClaimed = old.process.isPIDClaimed == true
    known.isRestricted = facts.isRestricted || old.process.isRestricted == true
    return .news(AttachedProcess(number: 0, facts: known, ring: process.ring))
  }

  /// Returns the report with the ring's id, even if its user may not read it: the report of a restricted process is
  /// visible only to root.
  ///
  /// Retries, because late symbols or an unwind cross-check may rebuild the report at the same time.
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
