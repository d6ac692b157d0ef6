extension CrashReport {
  /// A breadcrumb of the program.
  public struct Breadcrumb: Codable, Sendable, Equatable {
    /// RFC 3339 in UTC with microseconds.
    public var time: String
    /// The message.
    public var text: String
    /// The level; nil when the program gave none.
    public var level: Level?
    /// The part of the program, such as a logger's label; nil when the program gave none.
    public var category: String?
    /// Keys and values; nil when there are none.
    public var metadata: [String: String]?

    /// Makes a breadcrumb from its parts.
    public init(
      time: String, text: String, level: Level? = nil, category: String? = nil, metadata: [String: String]? = nil
    ) {
      self.time = time
      self.text = text
      self.level = level
      self.category = category
      self.metadata = metadata
    }

    /// The level of a breadcrumb, one of swift-log's; or a number that this version does not know.
    public struct Level: OpenEnum {
      /// The word.
      public let rawValue: String
      /// Makes the value of any word.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// For following the program step by step.
      public static let trace = Self("trace")
      /// For debugging.
      public static let debug = Self("debug")
      /// For information.
      public static let info = Self("info")
      /// Unusual, but no fault.
      public static let notice = Self("notice")
      /// Less than an error.
      public static let warning = Self("warning")
      /// An operation failed.
      public static let error = Self("error")
      /// The program needs attention at once.
      public static let critical = Self("critical")

      /// The number of each level in the ring, from 1 on.
      public static let all: [Level] = [trace, debug, info, notice, warning, error, critical]
    }
  }
}

extension CrashReport {
  /// The time of a breadcrumb relative to the crash, such as `−14 ms`; as it is when one of both is no time.
  public func relativeTime(of breadcrumb: Breadcrumb) -> String {
    guard let crash = Timestamp.nanoseconds(rfc3339: time),
      let moment = Timestamp.nanoseconds(rfc3339: breadcrumb.time)
    else { return breadcrumb.time }
    // After the crash, where the clock was set back or another thread still ran.
    if moment > crash { return "+" + Self.span(nanoseconds: moment - crash) }
    return (moment < crash ? "−" : "") + Self.span(nanoseconds: crash - moment)
  }

  /// Two units at most, and no more digits than a reader compares.
  private static func span(nanoseconds: UInt64) -> String {
    let microseconds = nanoseconds / 1_000
    let seconds = microseconds / 1_000_000
    switch microseconds {
    case ..<1_000: return "\(microseconds) µs"
    case ..<1_000_000: return "\(microseconds / 1_000) ms"
    case ..<60_000_000: return "\(seconds).\(microseconds / 100_000 % 10) s"
    case ..<3_600_000_000: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<172_800_000_000: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
    }
  }
}
