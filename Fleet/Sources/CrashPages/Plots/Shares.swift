/// The distribution of events over the values of one property, as bars.
struct Shares: Encodable, Sendable, Equatable {
  /// One value with its bar.
  struct Row: Encodable, Sendable, Equatable {
    var value: String
    /// The value as the page shows it.
    let name: String
    var count: Figure
    var percent: Figure
    /// The width of the bar in a plot of the width 100.
    let width: String
    /// The path of a search for the value; nil if the value cannot be searched.
    var path: String?

    private enum CodingKeys: CodingKey { case value, count }
  }

  var property: String
  var rows: [Row]
  /// The number of values that are not shown.
  var more: Figure?
  /// If only the newest events were counted, their number; nil if all were counted.
  var sample: Figure?

  private static let limit = 6

  init(_ distribution: IssueDetail.Distribution, path: (String) -> String?) {
    property = distribution.property
    let all = max(1, distribution.values.reduce(0.0) { $0 + Double(max(0, $1.count)) })
    let isBuild = distribution.property == SearchTerm.build.rawValue
    rows = distribution.values.prefix(Self.limit).map { value in
      let share = Double(max(0, value.count)) / all
      let text = isBuild ? String(value.value.prefix(12)) : value.value
      return Row(
        value: text, name: CrashText.visible(text, or: "without a name"),
        count: Figure(value.count), percent: .percent(share),
        width: Figure.coordinate(max(0.5, share * 100)), path: path(value.value))
    }
    let rest = distribution.values.count - rows.count
    more = rest > 0 ? Figure(rest) : nil
    sample = distribution.sample.map { Figure($0) }
  }
}
