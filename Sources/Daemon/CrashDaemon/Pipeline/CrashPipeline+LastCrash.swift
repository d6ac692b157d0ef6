import CrashProtocol
import CrashRing
import CrashStore
import Logging
import Synchronization

// The last crash of a program, for its next process.
extension CrashPipeline {
  /// Earlier processes of the program whose reports are waited for, of which a supervisor starts one at a time.
  private static let earlierLimit = 8

  /// Tells a process of the last stored crash of its program: the same user, executable and name.
  ///
  /// A process that a supervisor starts again attaches before its predecessor's report is stored, so that is waited for.
  func tellLastCrash(to process: AttachedProcess) async {
    let (facts, key) = (process.facts, ServiceKey(process.facts))
    // The reports of processes with more rights than their user are not their user's.
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
      // The process learns nothing, which is what it has without crashd.
      analysis.logger.debug("the last crash of '\(facts.identity.name)' is unknown: \(error)")
    }
  }
}
