/// Bars over time, as a small SVG without text.
///
/// The template stretches the plot to the available width; labels are HTML beside it. Its JSON form has only the
/// points.
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
  /// Whether the ticks divide the bars into equal parts, and each tick is at the left end of its part.
  ///
  /// Otherwise the first tick is at the left end of the plot, and the last one at the right end.
  let ticksStartParts: Bool
  let width: Int
  let height: Int
  /// The greatest count, for the label of the axis.
  let greatestCount: Figure
  let isEmpty: Bool

  private static let barWidth = 10.0

  /// Creates a plot.
  ///
  /// `ticks` are the labels below the plot, at equal distances.
  init(_ points: [Point], summary: String, height: Int = 60, ticks: [String] = [], ticksStartParts: Bool = false) {
    (self.points, self.summary, self.height, self.ticksStartParts) = (points, summary, height, ticksStartParts)
    let greatest = points.map(\.count).max() ?? 0
    width = max(1, Int(Double(points.count) * Self.barWidth))
    self.ticks = ticks.map { Tick(label: $0) }
    greatestCount = Figure(greatest)
    isEmpty = greatest == 0
    bars = points.enumerated().compactMap { index, point in
      guard point.count > 0, greatest > 0 else { return nil }
      // A bar of one event must be visible beside a bar of a million events.
      let barHeight = max(2, Double(point.count) / Double(greatest) * Double(height))
      return Bar(
        x: Figure.coordinate(Double(index) * Self.barWidth + 1), y: Figure.coordinate(Double(height) - barHeight),
        width: Figure.coordinate(Self.barWidth - 2), height: Figure.coordinate(barHeight),
        label: "\(point.label): \(Figure(point.count))", path: point.path)
    }
  }

  private enum CodingKeys: CodingKey { case points }
}

extension Figure {
  /// Returns a coordinate of a plot with at most one decimal, such as `12.5`.
  static func coordinate(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e6 else { return "0" }
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(sign)\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }
}
