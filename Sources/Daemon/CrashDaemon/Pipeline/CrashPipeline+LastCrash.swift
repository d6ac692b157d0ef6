import CrashProtocol
import CrashRing
import CrashStore
import Logging
import Synchronization

// Sends a new process a message about the last crash of its program (the last-crash notice).
extension CrashPipeline {
  /// The maximum number of earlier processes of the program for whose reports crashd waits.
  ///
  /// The maximum is low, because a supervisor usually runs only one process of a program at a time.
  private static let earlierLimit = 8

  /// Sends a process the message about the last stored crash of its program.
  ///
  /// The program is identified by user, executable and process name. A restarted process usually attaches before the
  /// report of the previous process is stored. Therefore, this method waits for that report.
  func tellLastCrash(to process: AttachedProcess) async {
    let (facts, key) = (process.facts, ServiceKey(process.facts))
    // A user must not receive the reports of processes that had more privileges than that user.
    guard process.ring.takesLastCrash(), !key.isRestricted, !facts.identity.executable.isEmpty else { return }
    let earlier = state.withLock { state in
      state.entries.values.filter { entry in
        entry.process.number < process.number && !entry.isSettled && ServiceKey(entry.process.facts) == key
      }.map(\.process.facts.peer.pid)
    }
    for pid in Set(earlier).subtracting([facts.peer.pid]).sorted().suffix(Self.earlierLimit) {
      await wait(pid, timeout_ms: limits.lastCrash_ms)
    }
    do throws(StoreError) {
      let report = try analysis.store.newest(
        uid: facts.peer.uid, executable: facts.identity.executable, name: facts.identity.name)
      lastCrashes.put(LastCrashNotice(report), for: process.number)
    } catch {
      // If the store does not answer, the process receives no message, as if crashd were not running.
      analysis.logger.debug("the last crash of '\(facts.identity.name)' is unknown: \(error)")
    }
  }
}
