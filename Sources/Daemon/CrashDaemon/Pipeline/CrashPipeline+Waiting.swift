import CrashRing
import Synchronization

// Waits until the reports of a process are stored.
extension CrashPipeline {
  /// The state of a process, as `AwaitProcess` returns it.
  struct Progress: Sendable, Equatable {
    var isAttached: Bool
    var isSettled: Bool
    var reports: [String]
  }

  /// Waits until all records that a process announced are stored, for at most `timeout_ms`.
  func progress(pid: Int32, mayRead: @Sendable (Peer) -> Bool, timeout_ms: Int) async -> Progress {
    await wait(pid, timeout_ms: timeout_ms)
    let (all, ended, isSettled) = state.withLock { state in
      (state.entries.values.filter { $0.process.facts.peer.pid == pid }, state.ended, hasSettled(pid, state))
    }
    let live = all.filter { mayRead($0.process.facts.peer) }.sorted { $0.process.number < $1.process.number }
    let past = ended.filter { $0.facts.peer.pid == pid && mayRead($0.facts.peer) }
    guard let newest = live.last?.process.facts ?? past.last?.facts else {
      return Progress(isAttached: false, isSettled: isSettled, reports: [])
    }
    // Collect the reports of all attachments of the process. A process that replaced its program (`execve`) attached
    // more than once, and the order in which the attachments end is not fixed.
    var reports = past.filter { newest.isSameProcess(as: $0.facts) }.flatMap(\.reports)
    if reports.isEmpty, live.isEmpty { reports = past.last?.reports ?? [] }
    reports += live.flatMap(\.reports)
    // Remove duplicates, because a process that crashes while it connects can have two connections with the same ring
    // and the same report.
    var seen: Set<String> = []
    reports.removeAll { !seen.insert($0).inserted }
    return Progress(isAttached: true, isSettled: isSettled, reports: reports)
  }

  private func hasSettled(_ pid: Int32, _ state: State) -> Bool {
    state.entries.values.allSatisfy { $0.process.facts.peer.pid != pid || $0.isSettled }
      && !analysis.outage.isHolding(pid: pid)
  }

  func wait(_ pid: Int32, timeout_ms: Int) async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if hasSettled(pid, state) { return true }
        state.nextWaiter += 1
        let number = state.nextWaiter
        // The time-out task is started while the lock is held, so that it finds its waiter even if the time-out is very
        // short.
        let alarm = Task {
          do { try await Task.sleep(for: .milliseconds(timeout_ms)) } catch { return }
          giveUp(number)
        }
        state.waiters[number] = Waiter(pid: pid, continuation: continuation, alarm: alarm)
        return false
      }
      if isSettled { continuation.resume() }
    }
  }

  private func giveUp(_ number: UInt64) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
  }

  /// Wakes the calls that wait for one process, or all waiting calls if `pid` is nil.
  func wakeWaiters(of pid: Int32? = nil) {
    let woken = state.withLock { state in
      // Filter the waiters by pid before anything else. During many concurrent crashes, almost no call waits, and
      // checking the entries of all processes would take time.
      let possible = state.waiters.filter { pid == nil || $0.value.pid == pid }
      let settled = possible.filter { hasSettled($0.value.pid, state) }
      for number in settled.keys { state.waiters[number] = nil }
      return settled.values
    }
    for waiter in woken {
      waiter.alarm.cancel()
      waiter.continuation.resume()
    }
  }
}
