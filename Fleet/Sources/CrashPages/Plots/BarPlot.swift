/// Bars over time, as a small SVG without text.
///
/// The template stretches the plot to the available width; labels are HTML beside it. Its JSON has only the points.
struct BarPlot: Encodable, Sendable, Equatable {
  /// The value of one bar.
  struct Point: Encodable, Sendable, Equatable {
    var label: String
    var count: Int
    /// The path of the page that the bar links to; nil without a link.
    var path: String?
  }

  /// A bar with its position in the plot.
  struct Bar: Sendable, Equatable {
    var x, y, width, height: String
    var label: String
    var path: String?
  }

  /// A label below the plot.
  struct Tick: Sendable, Equatable {
    var label: String
  }

  var points: [Point]
  /// A text alternative for people who cannot see the plot.
  var summary: String
  let bars: [Bar]
  let ticks: [Tick]
  /// Whether each label is at the left end of its part of the bars.
  ///
  /// Otherwise the first label is at the left end of the plot, and the last one at the right end.
  let hasTicksOfParts: Bool
  let width: Int
  let height: Int
  /// The greatest count, as the label of the axis.
  let top: Figure
  let isEmpty: Bool

  private static let barWidth = 10.0

  /// Creates a plot.
  ///
  /// `ticks` are the labels below the plot, at equal distances. With `ofParts`, each is at the left end of its part.
  init(_ points: [Point], summary: String, height: Int = 60, ticks: [String] = [], ofParts: Bool = false) {
    (self.points, self.summary, self.height, hasTicksOfParts) = (points, summary, height, ofParts)
    let most = points.map(\.count).max() ?? 0
    width = max(1, Int(Double(points.count) * Self.barWidth))
    self.ticks = ticks.map { Tick(label: $0) }
    top = Figure(most)
    isEmpty = most == 0
    bars = points.enumerated().compactMap { index, point in
      guard point.count > 0, most > 0 else { return nil }
      // A bar of one event must be visible beside a bar of a million events.
      let tall = max(2, Double(point.count) / Double(most) * Double(height))
      return Bar(
        x: Self.text(Double(index) * Self.barWidth + 1), y: Self.text(Double(height) - tall),
        width: Self.text(Self.barWidth - 2), height: Self.text(tall), label: "\(point.label): \(Figure(point.count))",
        path: point.path)
    }
  }

  private enum CodingKeys: CodingKey { case points }

  /// Returns a coordinate with one decimal.
  static func text(_ value: Double) -> String { Figure.coordinate(value) }
}

extension Figure {
  /// A coordinate of a plot, such as `12.5`.
  static func coordinate(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e6 else { return "0" }
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(sign)\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }
}
