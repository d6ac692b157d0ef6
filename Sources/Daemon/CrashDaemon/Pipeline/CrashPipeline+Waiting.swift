import CrashRing
import Synchronization

// Waiting until the reports of a process are stored.
extension CrashPipeline {
  /// The state of a process, for `AwaitProcess`.
  struct Progress: Sendable, Equatable {
    var isAttached: Bool
    var isSettled: Bool
    var reports: [String]
  }

  /// Waits until everything that a process announced is stored, but at most `timeout_ms`.
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
    // A process that replaced its program (exec) attached more than once, and the ends may arrive in any order.
    var reports = past.filter { newest.isSameProcess(as: $0.facts) }.flatMap(\.reports)
    if reports.isEmpty, live.isEmpty { reports = past.last?.reports ?? [] }
    reports += live.flatMap(\.reports)
    // A process that crashes while it connects may have two connections with one ring and report.
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
        // The alarm starts under the lock, because it must find its waiter even if the time-out is very short.
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

  /// Wakes the waiters of one process, or all.
  func wakeWaiters(of pid: Int32? = nil) {
    let woken = state.withLock { state in
      // Filtered by pid first: in a storm almost no call waits, and checking all entries takes time.
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
