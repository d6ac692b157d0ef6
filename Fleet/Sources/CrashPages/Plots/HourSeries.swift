internal import CrashProtocol
internal import CrashReport

/// The hours or days before the time of a page, with the number of events in each.
struct HourSeries: Sendable {
  private static let hour_ns: UInt64 = 3_600_000_000_000

  var now_ns: UInt64

  /// Returns the names of the last hours, such as `2026-11-22T14`, the oldest first.
  func hours(_ count: Int) -> [String] {
    (0..<count).reversed().map { back in
      let age_ns = UInt64(back) * Self.hour_ns
      return String(Timestamp.string(since1970_ns: now_ns > age_ns ? now_ns - age_ns : 0).prefix(13))
    }
  }

  /// Returns the time at which the last `count` hours begin.
  func start(hours count: Int) -> String { (hours(count).first ?? "1970-01-01T00") + ":00:00.000000Z" }

  /// Returns one point for each of the last hours.
  func points(
    _ counts: [HourCount], hours count: Int, path: (String) -> String? = { _ in nil }
  ) -> [BarPlot.Point] {
    let byHour = Dictionary(counts.map { ($0.hour, $0.count) }, uniquingKeysWith: Self.sum)
    return hours(count).map { hour in
      BarPlot.Point(label: Self.label(hour), count: byHour[hour] ?? 0, path: path(hour))
    }
  }

  /// Returns one point for each of the last days.
  func points(_ counts: [HourCount], days count: Int) -> [BarPlot.Point] {
    let byDay = Dictionary(counts.map { (String($0.hour.prefix(10)), $0.count) }, uniquingKeysWith: Self.sum)
    return days(count).map { BarPlot.Point(label: $0, count: byDay[$0] ?? 0) }
  }

  /// Returns the dates of the last days, the oldest first.
  func days(_ count: Int) -> [String] {
    (0..<count).reversed().map { back in
      let age_ns = UInt64(back) * 24 * Self.hour_ns
      return String(Timestamp.string(since1970_ns: now_ns > age_ns ? now_ns - age_ns : 0).prefix(10))
    }
  }

  /// Returns an hour for people, such as `2026-11-22 14:00`.
  static func label(_ hour: String) -> String { "\(hour.prefix(10)) \(hour.suffix(2)):00 UTC" }

  // An untrusted count must not cause an overflow trap.
  private static func sum(_ one: Int, _ other: Int) -> Int {
    let (sum, isTooLarge) = one.addingReportingOverflow(other)
    return isTooLarge ? Int.max : sum
  }
}
