/// How long to wait before the next attempt: twice as long each time, and never exactly as long as others do.
public struct Backoff: Sendable {
  private static let first_ms = 250
  private static let longest_ms = 60_000
  /// A server that asks for more is asked again after this.
  private static let longestRequest = Duration.seconds(3_600)

  private var next_ms = Self.first_ms

  /// Begins with a quarter of a second.
  public init() {}

  /// Between half of what is due and all of it; not less than the other side asks for, up to an hour.
  public mutating func delay(
    atLeast request: Duration? = nil, random: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }
  ) -> Duration {
    defer { next_ms = min(next_ms * 2, Self.longest_ms) }
    return max(.milliseconds(random(next_ms / 2...next_ms)), min(request ?? .zero, Self.longestRequest))
  }

  /// Begins anew after a success.
  public mutating func reset() { next_ms = Self.first_ms }
}
