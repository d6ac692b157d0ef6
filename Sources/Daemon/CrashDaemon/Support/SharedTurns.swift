import Synchronization

/// Runs work at most once at a time for each key.
///
/// The result of one run serves all callers that asked before the run began.
///
/// Two concurrent readers of one ring would otherwise both count the same entries as new.
final class SharedTurns<Key: Hashable & Sendable>: Sendable {
  private enum Role { case leads, isServed }
  private typealias Asker = CheckedContinuation<Role, Never>

  private struct Turn {
    /// Callers that asked before the run began.
    var served: [Asker] = []
    /// Callers that asked later.
    ///
    /// The event that they ask about may have happened after the run began, so they need another run.
    var next: [Asker] = []
  }

  /// Current runs, by key.
  private let turns = Mutex<[Key: Turn]>([:])

  /// Returns when `work` has run for the key, in a run that began after this call.
  ///
  /// This caller or another one runs it.
  func run(_ key: Key, _ work: @Sendable () async -> Void) async {
    let role: Role = await withCheckedContinuation { asker in
      let leads = turns.withLock { turns in
        if turns[key] == nil {
          turns[key] = Turn()
          return true
        }
        turns[key]?.next.append(asker)
        return false
      }
      if leads { asker.resume(returning: .leads) }
    }
    guard role == .leads else { return }
    await work()
    end(key)
  }

  /// Runs `work`, unless it is already running for that key.
  func runIfFree(_ key: Key, _ work: @Sendable () async -> Void) async {
    let leads = turns.withLock { turns in
      if turns[key] != nil { return false }
      turns[key] = Turn()
      return true
    }
    guard leads else { return }
    await work()
    end(key)
  }

  /// The number of callers that wait for a run that has not begun.
  func waitingCount(_ key: Key) -> Int { turns.withLock { $0[key]?.next.count ?? 0 } }

  /// Ends a run.
  ///
  /// The first waiting caller makes the next run for all waiting callers.
  private func end(_ key: Key) {
    let (served, leader): ([Asker], Asker?) = turns.withLock { turns in
      guard let turn = turns[key] else { return ([], nil) }
      turns[key] = turn.next.isEmpty ? nil : Turn(served: Array(turn.next.dropFirst()))
      return (turn.served, turn.next.first)
    }
    for asker in served { asker.resume(returning: .isServed) }
    leader?.resume(returning: .leads)
  }
}
