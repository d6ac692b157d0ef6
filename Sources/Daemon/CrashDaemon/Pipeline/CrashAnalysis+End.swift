import CrashReport
import CrashRing
import CrashStore
import Logging

// What is known of a crash only when its process has ended.
extension CrashAnalysis {
  /// How often a report is made anew when something else has changed it meanwhile.
  private static let endAttempts = 4

  /// Puts that of several crashed threads first whose signal ended the process.
  ///
  /// Holds a permit, as a look does, because it holds as much memory. Uses the symbols that are there: the report gets
  /// late ones when they come.
  func noteEnd(_ ended: EndedProcess, report id: String) async {
    guard let signal = ended.end.signal else { return }
    let permit = await permits.enter(ended.process.facts.peer.uid)
    defer { permit.giveBack() }
    for _ in 0..<Self.endAttempts {
      do throws(StoreError) {
        return try await noteEndOnce(ended.process, signal, report: id)
      } catch .changedMeanwhile {
        continue
      } catch .noSuchReport {
        // It waits in memory, or was removed meanwhile.
        return
      } catch {
        // The store's keeper reports a store that does not work.
        if !error.isOutage {
          logger.warning("cannot note the signal that ended the process of report \(id): \(error), ignoring")
        }
        return
      }
    }
  }

  private func noteEndOnce(_ process: AttachedProcess, _ signal: Int32, report id: String) async throws(StoreError) {
    let stored = try store.report(idPrefix: id)
    let old = stored.report
    guard old.death == nil, old.signal.number != signal,
      old.threads.contains(where: { $0.crashed && $0.signal?.number == Int(signal) }),
      let raw = try store.raw(id: id)
    else { return }
    let contents = read(process, isFinal: true)
    let symbols = await openCachesThatAreThere(for: contents, of: process)
    let builder = await builder(contents, of: process, symbols, old: old, endSignal: signal)
    guard var report = builder.report(id: id), report.signal.number == signal else { return }
    report.keepTimes(of: old)
    (report.timing, report.losses) = (old.timing, old.losses)
    report.unwinding = old.unwinding
    guard try store.put(report, raw: raw, replacing: stored.cursor) != .unchanged else { return }
    hub.notify()
    let late = symbols.gaps.filter { $0.value.mayFill }.keys
    if !late.isEmpty { await caches.remember(LateReport(id: id, user: process.facts.peer.uid), until: late) }
  }
}
