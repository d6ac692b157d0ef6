/// Exponential back-off with jitter: the delay doubles each time, and differs between clients.
public struct Backoff: Sendable {
  private static let first_ms = 250
  private static let longest_ms = 60_000
  /// The limit of a server's request for a longer delay.
  private static let longestRequest = Duration.seconds(3_600)

  private var next_ms = Self.first_ms

  /// Starts with a quarter of a second.
  public init() {}

  /// Between half of the current delay and all of it; at least what the other side requests, up to an hour.
  public mutating func delay(
    atLeast request: Duration? = nil, random: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }
  ) -> Duration {
    defer { next_ms = min(next_ms * 2, Self.longest_ms) }
    return max(.milliseconds(random(next_ms / 2...next_ms)), min(request ?? .zero, Self.longestRequest))
  }

  /// Starts again after a success.
  public mutating func reset() { next_ms = Self.first_ms }
}
