/// What a self-test of the guards found in a process, by its own word.
public struct GuardSelfTest: Sendable, Equatable {
  /// When it ended, in nanoseconds since 1970.
  public var time_ns: UInt64
  /// The numbers of the kinds that were asked, in their order; some may be of later versions.
  public var asked: [Int]
  /// The same of the kinds of which a check failed: some of `asked`.
  public var failing: [Int]
  /// How many checks were asked.
  public var checks: Int
  /// How many of them failed.
  public var failures: Int

  /// Makes one from its parts.
  public init(time_ns: UInt64, asked: [Int], failing: [Int], checks: Int, failures: Int) {
    self.time_ns = time_ns
    self.asked = asked
    self.failing = failing
    self.checks = checks
    self.failures = failures
  }
}
