import CrashReport
import CrashStore
import Logging

/// The second look at the stacks of a report that is stored already: nobody who follows waits for it.
extension CrashAnalysis {
  /// Unwinds the crashed threads of a ring that nobody writes any more again, and notes in the report what came of it.
  ///
  /// An agreement is no event. Better frames are: the report comes again with them.
  func unwindAgain(_ process: AttachedProcess, report id: String) async {
    // Asked first: to read the ring only to find that there is no place would cost most where crashes are most.
    guard unwinder.isOpen(for: process.facts.peer.uid),
      let images = SnapshotUnwinder.images(of: read(process, isFinal: true)),
      let outcome = await unwinder.unwind(
        with: images, for: process.facts.peer.uid, after: permits, read: { read(process, isFinal: true) })
    else { return }
    do throws(StoreError) {
      let stored = try store.report(idPrefix: id)
      var report = try stored.report
      guard outcome.isBetter else {
        report.unwinding = outcome.findings
        _ = try store.amend(report, at: stored.cursor)
        return
      }
      let symbols = await openCaches(for: outcome.contents, of: process)
      let builder = await builder(outcome.contents, of: process, symbols, old: report)
      guard var better = builder.report(id: id) else { return }
      better.keepTimes(of: report)
      better.timing = report.timing
      better.losses = report.losses
      better.unwinding = outcome.findings
      // Without its raw record it could never be analysed again.
      guard let raw = try store.raw(id: id) else { return }
      if try store.put(better, raw: raw, replacing: stored.cursor) != .unchanged { hub.notify() }
    } catch {
      logger.warning("cannot note the second unwinding of \(id): \(error), ignoring")
    }
  }
}
