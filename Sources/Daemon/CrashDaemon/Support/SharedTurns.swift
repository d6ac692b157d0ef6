import Synchronization

/// Runs at most one piece of work at a time for each key, such as a ring.
///
/// One run of the work serves all callers that requested it before the run began.
///
/// Without this type, two concurrent readers of one ring could both count the same incidents as new.
final class SharedTurns<Key: Hashable & Sendable>: Sendable {
  private enum Role { case leads, isServed }
  private typealias Asker = CheckedContinuation<Role, Never>

  private struct Turn {
    /// The callers that the current run serves, because they requested it before it began.
    var served: [Asker] = []
    /// The callers that arrived after the current run of the work had begun.
    ///
    /// It is uncertain whether the current run reads the data of these callers, so they need another run.
    var next: [Asker] = []
  }

  /// The current run and its callers, for each key.
  private let turns = Mutex<[Key: Turn]>([:])

  /// Returns at the end of a run of `work` for the key that began after this call.
  ///
  /// Either this caller or another waiting caller executes this run.
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

  /// Runs `work`, unless a run for the given key is active.
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

  /// Returns the number of callers that wait for the next run.
  func waitingCount(_ key: Key) -> Int { turns.withLock { $0[key]?.next.count ?? 0 } }

  /// Ends a run.
  ///
  /// If callers wait for the next run, the first of them executes it for all of them.
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
