/// Decides when `serve` starts the program again after a signal ended it.
///
/// An end is quick if the program ran for less than `minimumUptime`. After one quick end, the program starts again at
/// once. After the second quick end in a row, the start is delayed, and each further quick end doubles the delay. A run
/// that is not quick resets the count.
public struct RestartPolicy: Sendable, Equatable {
  enum Decision: Equatable {
    case restart(after: Duration)
    /// The program ended quickly too often in a row.
    case giveUp
  }

  let minimumUptime: Duration
  let firstDelay: Duration
  let longestDelay: Duration
  /// The number of quick ends in a row after which the program is not started again; 0 means no limit.
  let quickEndLimit: Int
  /// The number of quick ends in a row.
  private(set) var quickEnds = 0

  /// Creates a policy that has not seen any end yet.
  public init(minimumUptime: Duration, firstDelay: Duration, longestDelay: Duration, quickEndLimit: Int) {
    self.minimumUptime = minimumUptime
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.quickEndLimit = quickEndLimit
  }

  /// Records that a program ended after it had run for `uptime`, and returns whether and when the program starts again.
  mutating func decision(afterUptime uptime: Duration) -> Decision {
    guard uptime < minimumUptime else {
      quickEnds = 0
      return .restart(after: .zero)
    }
    quickEnds += 1
    if quickEndLimit > 0, quickEnds >= quickEndLimit { return .giveUp }
    return .restart(after: delay)
  }

  private var delay: Duration {
    guard quickEnds > 1 else { return .zero }
    var delay = firstDelay
    for _ in 2..<quickEnds where delay < longestDelay { delay *= 2 }
    return min(delay, longestDelay)
  }
}
