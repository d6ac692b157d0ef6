import CrashReport
import CrashStore
import Logging

// What is known of a crash only when its process has ended.
extension CrashAnalysis {
  /// How often a report is made anew when something else has changed it meanwhile.
  private static let endAttempts = 4

  /// Of several threads that crashed at once, puts the one first whose signal ended the process.
  func noteEnd(_ ended: EndedProcess, report id: String) async {
    guard let signal = ended.end.signal else { return }
    for _ in 0..<Self.endAttempts {
      do throws(StoreError) {
        let stored = try store.report(idPrefix: id)
        let old = stored.report
        guard old.death == nil, old.signal.number != signal,
          old.threads.contains(where: { $0.crashed && $0.signal?.number == Int(signal) }),
          let raw = try store.raw(id: id)
        else { return }
        let (contents, symbols) = await openAgain(ended.process)
        let builder = await builder(contents, of: ended.process, symbols, old: old, endSignal: signal)
        guard var report = builder.report(id: id), report.signal.number == signal else { return }
        report.keepTimes(of: old)
        (report.timing, report.losses) = (old.timing, old.losses)
        report.unwinding = old.unwinding
        if try store.put(report, raw: raw, replacing: stored.cursor) != .unchanged { hub.notify() }
        return
      } catch .changedMeanwhile {
        continue
      } catch .noSuchReport {
        // It waits in memory, or was removed meanwhile.
        return
      } catch {
        // Of a store that does not work its keeper tells.
        if !error.isOutage {
          logger.warning("cannot note the signal that ended the process of report \(id): \(error), ignoring")
        }
        return
      }
    }
  }
}
