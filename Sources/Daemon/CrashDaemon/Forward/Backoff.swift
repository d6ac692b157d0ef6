/// How long to wait before the next attempt: twice as long each time, and never exactly as long as others do.
struct Backoff {
  static let first_ms = 250
  static let longest_ms = 60_000

  private var next_ms = Self.first_ms

  /// Between half of what is due and all of it.
  mutating func delay_ms(random: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }) -> Int {
    defer { next_ms = min(next_ms * 2, Self.longest_ms) }
    return random(next_ms / 2...next_ms)
  }

  /// It went well.
  mutating func reset() { next_ms = Self.first_ms }
}
