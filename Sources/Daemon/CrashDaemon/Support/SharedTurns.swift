import Synchronization

/// Work that runs once at a time for each key.
///
/// Its result serves all callers that asked before it began.
///
/// Two concurrent readers of one ring would both count as new what neither has recorded yet.
final class SharedTurns<Key: Hashable & Sendable>: Sendable {
  private enum Role { case leads, isServed }
  private typealias Asker = CheckedContinuation<Role, Never>

  private struct Turn {
    /// Callers that asked before the turn began.
    var served: [Asker] = []
    /// Callers that asked since: what they ask for may have happened after that turn began.
    var next: [Asker] = []
  }

  /// Turns under way, by key.
  private let turns = Mutex<[Key: Turn]>([:])

  /// Returns when `work` was done for the key, by this caller or by another, in a turn that began after this call.
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

  /// Callers that wait for a turn that has not begun.
  func waitingCount(_ key: Key) -> Int { turns.withLock { $0[key]?.next.count ?? 0 } }

  /// Ends a turn.
  ///
  /// The first waiting caller runs the next one for all of them.
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
