import CrashReport
import CrashRing
import CrashStore

/// A ring in the spool, compared with its stored report.
///
/// A process that has announced its crash also leaves its ring in the spool. A crashd that was killed may have stored
/// it, or an earlier state of it, without removing the file.
enum SpooledRing: Sendable {
  /// The store has all of it.
  case stored
  /// The store has less or nothing of it: the process, as far as it is known.
  case news(AttachedProcess)
  /// The store fails now.
  case unknown(StoreError)

  /// Whether a reading found anything that the stored one lacks.
  static func hasNews(_ found: CrashAnalysis.Seen, beside stored: CrashAnalysis.Seen) -> Bool {
    var generations: [UInt64: UInt64] = [:]
    for record in stored.records where record.count == 2 { generations[record[0]] = record[1] }
    // A slot that was reused since is older in the file.
    let hasRecord = found.records.contains { record in
      record.count == 2 && generations[record[0]].map { $0 < record[1] } ?? true
    }
    // The same crash, with its thread sweep.
    return hasRecord || (found.records == stored.records && found.threads.count > stored.threads.count)
  }
}

extension CrashAnalysis {
  /// Compares a spooled ring with the stored report of its id and owner.
  func compare(_ process: AttachedProcess) async -> SpooledRing {
    let facts = process.facts
    let (old, raw): (CrashReport, [UInt8])
    do throws(StoreError) {
      (_, old, raw) = try stored(facts)
    } catch {
      // Any other error occurs again when the ring is stored, and is counted then.
      return error.isOutage ? .unknown(error) : .news(process)
    }
    // The id alone proves nothing: another user's process may have chosen it.
    guard old.process.uid == Int(facts.peer.uid) else { return .news(process) }
    if let before = try? Reanalysis.process(of: old, raw: raw),
      !SpooledRing.hasNews(Seen(read(process, isFinal: true)), beside: Seen(read(before, isFinal: true)))
    {
      return .stored
    }
    // A connection reported its pid, unit, rights and context; a file reports none of them.
    var known = facts
    known.peer.pid = Int32(clamping: old.process.pid)
    known.unit = old.process.unit
    known.context = ProcessContext(old)
    known.isPIDClaimed = old.process.isPIDClaimed == true
    known.isRestricted = facts.isRestricted || old.process.isRestricted == true
    return .news(AttachedProcess(number: 0, facts: known, ring: process.ring))
  }

  /// The report with the ring's id, also one that its user may not read: the report of a restricted process is root's.
  ///
  /// Late symbols or an unwind cross-check may rebuild it at the same time.
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
