import CrashReport
import CrashRing
import CrashStore

/// A ring in the spool, beside what is stored of it.
///
/// A process that has announced its crash leaves its ring in the spool as well. A crashd that was killed may have
/// stored it, or an earlier look at it, and not have removed the file.
enum SpooledRing: Sendable {
  /// All of it is stored.
  case stored
  /// The store has nothing of it, or less: the process, as well as it is known.
  case news(AttachedProcess)
  /// The store does not answer now.
  case unknown(StoreError)

  /// Whether a look at a ring found anything that the stored one lacks.
  static func hasNews(_ found: CrashAnalysis.Seen, beside stored: CrashAnalysis.Seen) -> Bool {
    var generations: [UInt64: UInt64] = [:]
    for record in stored.records where record.count == 2 { generations[record[0]] = record[1] }
    // A slot that was used again since is older in the file.
    let hasRecord = found.records.contains { record in
      record.count == 2 && generations[record[0]].map { $0 < record[1] } ?? true
    }
    // Of the same crash, with the sweep.
    return hasRecord || (found.records == stored.records && found.threads.count > stored.threads.count)
  }
}

extension CrashAnalysis {
  /// Compares a ring of the spool with what is stored under its id for its owner.
  func compare(_ process: AttachedProcess) async -> SpooledRing {
    let facts = process.facts
    let (old, raw): (CrashReport, [UInt8])
    do throws(StoreError) {
      (_, old, raw) = try stored(facts)
    } catch {
      // What else is wrong shows when it is stored, and is counted then.
      return error.isOutage ? .unknown(error) : .news(process)
    }
    // The id alone says nothing: another user's process may have chosen it.
    guard old.process.uid == Int(facts.peer.uid) else { return .news(process) }
    if let before = try? Reanalysis.process(of: old, raw: raw),
      !SpooledRing.hasNews(Seen(read(process, isFinal: true)), beside: Seen(read(before, isFinal: true)))
    {
      return .stored
    }
    // A connection showed its pid, its unit and its rights, of which a file shows nothing.
    var known = facts
    known.peer.pid = Int32(clamping: old.process.pid)
    known.unit = old.process.unit
    known.isPIDClaimed = old.process.isPIDClaimed == true
    known.isRestricted = facts.isRestricted || old.process.isRestricted == true
    return .news(AttachedProcess(number: 0, facts: known, ring: process.ring))
  }

  /// The report with the ring's id, also one that its user may not read: that of a restricted process is root's.
  ///
  /// It may be made again just then, with late symbols or by a second unwinding.
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
