import CrashReport
import CrashStore
import Logging

/// Runs the unwind cross-check of a stored report, in which libunwind unwinds the recorded stacks once more.
///
/// Subscribers receive the report before the cross-check.
extension CrashAnalysis {
  /// Unwinds the crashed threads of a ring to which no process writes any more, and adds the findings to the report.
  ///
  /// If both unwinders agree, crashd sends no event. If the cross-check improved frames, subscribers receive the report
  /// again.
  func unwindAgain(_ process: AttachedProcess, report id: String) async {
    // Check for a free permit before the ring is read. The permits limit concurrent cross-checks, and most calls get
    // none during many concurrent crashes.
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
      // Do not change the report if its raw record (the copy of the ring) was removed, because crashd could never
      // analyze the changed report again.
      guard let raw = try store.raw(id: id) else { return }
      if try store.put(better, raw: raw, replacing: stored.cursor) != .unchanged { hub.notify() }
    } catch {
      logger.warning("cannot store the unwind cross-check of report \(id): \(error), ignoring")
    }
  }
}
