/// Exponential back-off with jitter.
///
/// The delay doubles after each failure, and the jitter makes clients retry at different times.
public struct Backoff: Sendable {
  private static let first_ms = 250
  private static let longest_ms = 60_000
  /// The limit for a delay that a server requests.
  private static let longestRequest = Duration.seconds(3_600)

  private var next_ms = Self.first_ms

  /// Creates a back-off that begins with a quarter of a second.
  public init() {}

  /// Returns a random delay between half of the current delay and the whole current delay.
  ///
  /// If the server requests a delay that is longer than this random delay, returns the requested delay, limited to an
  /// hour.
  public mutating func delay(
    atLeast request: Duration? = nil, random: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }
  ) -> Duration {
    defer { next_ms = min(next_ms * 2, Self.longest_ms) }
    return max(.milliseconds(random(next_ms / 2...next_ms)), min(request ?? .zero, Self.longestRequest))
  }

  /// Resets the delay after a success.
  public mutating func reset() { next_ms = Self.first_ms }
}
