internal import CrashReport

/// A time, and its age when the page was built.
///
/// JSON encodes only the time.
struct Moment: Encodable, Sendable, Equatable {
  /// The time as RFC 3339.
  var time: String
  /// The time in readable form, such as `2026-11-22 14:03:12 UTC`.
  var text: String
  /// The age, such as `3 h ago`.
  var ago: String

  init(_ time: String, now_ns: UInt64) {
    self.time = time
    text = time.count >= 19 ? "\(time.prefix(10)) \(time.dropFirst(11).prefix(8)) UTC" : time
    ago = Self.age(time, now_ns)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(time)
  }

  private static func age(_ time: String, _ now_ns: UInt64) -> String {
    guard let then_ns = Timestamp.nanoseconds(rfc3339: time) else { return time }
    // If the clock was set back, an event can be newer than the page.
    let seconds = now_ns > then_ns ? (now_ns - then_ns) / 1_000_000_000 : 0
    return switch seconds {
    case 0..<5: "just now"
    case 5..<60: "\(seconds) s ago"
    case 60..<3_600: "\(seconds / 60) min ago"
    case 3_600..<86_400: "\(seconds / 3_600) h ago"
    case 86_400..<5_184_000: "\(seconds / 86_400) d ago"
    default: String(time.prefix(10))
    }
  }
}
