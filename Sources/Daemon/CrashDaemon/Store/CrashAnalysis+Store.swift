import CrashReport
import CrashRing
import CrashStore
import Logging

// The last step of a crash: into the store, or into memory as long as the store takes nothing.
extension CrashAnalysis {
  /// Where a report is now.
  enum Place: Sendable {
    case store
    case memory
  }

  /// Stores a report, and tells whoever follows.
  /// - Throws: `StoreError`; one that is an outage when it stands in a file, or there is no room in memory either.
  func keep(
    _ report: CrashReport, raw: [UInt8], of process: AttachedProcess, isFile: Bool = false
  ) throws(StoreError) -> Place {
    let facts = process.facts
    do throws(StoreError) {
      if try store.put(report, raw: raw, knownAs: Int(facts.identity.pid)) == .unchanged { return .store }
    } catch {
      guard error.isOutage, !isFile else { throw error }
      let item = StoreTrouble.Held(
        report: report, raw: raw, owner: facts.peer, process: facts.identity.name, ownPID: Int(facts.identity.pid),
        keptName: process.keptName)
      guard trouble.hold(item, because: error) else { throw error }
      return .memory
    }
    hub.notify()
    ledger.report(report.id, of: facts.peer, process: facts.identity.name, sentence: report.diagnosis.sentence)
    return .store
  }

  /// Makes a report anew from a raw record whose report is lost.
  ///
  /// Whose it was is lost with it: what the ring says of that is only the process's own word, so none but those who see everything see it.
  /// - Returns: Whether there is one now.
  func restore(_ orphan: ReportStore.Orphan) async -> Bool {
    guard let process = Reanalysis.process(ofOrphan: orphan.raw) else { return false }
    let (contents, symbols) = await openAgain(process)
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.noteHistory()
    guard !contents.records.isEmpty, let report = builder.report(id: orphan.id) else { return false }
    do throws(StoreError) {
      return try store.put(report, raw: orphan.raw) != .unchanged
    } catch {
      logger.warning("cannot store report \(orphan.id) anew: \(error)")
      return false
    }
  }
}
