extension CrashReport {
  /// A breadcrumb that the program recorded.
  public struct Breadcrumb: Codable, Sendable, Equatable {
    /// The time of the breadcrumb, as RFC 3339 in UTC with microseconds.
    public var time: String
    /// The message of the breadcrumb.
    public var text: String
    /// The level; nil if the program set no level.
    public var level: Level?
    /// The category, such as the label of a logger; nil if the program set no category.
    public var category: String?
    /// The metadata as keys and values; nil if there is no metadata.
    public var metadata: [String: String]?
    /// The number of the request during which the program recorded the breadcrumb, or nil if there was none.
    public var request: Int?

    /// Creates a breadcrumb from its parts.
    public init(
      time: String, text: String, level: Level? = nil, category: String? = nil, metadata: [String: String]? = nil,
      request: Int? = nil
    ) {
      self.time = time
      self.text = text
      self.level = level
      self.category = category
      self.metadata = metadata
      self.request = request
    }

    /// The level of a breadcrumb.
    ///
    /// The values are the levels of swift-log, or a number that this version does not define.
    public struct Level: OpenEnum {
      /// The value as a string, as in JSON.
      public let rawValue: String
      /// Creates a value from any string.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// A message that traces the program step by step.
      public static let trace = Self("trace")
      /// A message for debugging.
      public static let debug = Self("debug")
      /// An informational message.
      public static let info = Self("info")
      /// An unusual event that is not a fault.
      public static let notice = Self("notice")
      /// A condition less severe than an error.
      public static let warning = Self("warning")
      /// A failure of an operation.
      public static let error = Self("error")
      /// A failure that needs immediate attention.
      public static let critical = Self("critical")

      /// All levels, in the order of their numbers in the ring.
      ///
      /// The first number is 1.
      public static let all: [Level] = [trace, debug, info, notice, warning, error, critical]
    }
  }
}

extension CrashReport {
  /// Returns the time of a breadcrumb relative to the crash, such as `−14 ms`.
  ///
  /// If one of the two times is invalid, returns the time of the breadcrumb unchanged.
  public func relativeTime(of breadcrumb: Breadcrumb) -> String {
    guard let crash = Timestamp.nanoseconds(rfc3339: time),
      let moment = Timestamp.nanoseconds(rfc3339: breadcrumb.time)
    else { return breadcrumb.time }
    // A breadcrumb can be later than the crash, because the clock was set back or another thread was still running.
    if moment > crash { return "+" + Self.span(nanoseconds: moment - crash) }
    return (moment < crash ? "−" : "") + Self.span(nanoseconds: crash - moment)
  }

  /// Formats a time span with at most two units and few digits.
  static func span(nanoseconds: UInt64) -> String {
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
