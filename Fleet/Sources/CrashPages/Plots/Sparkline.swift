/// A row of small bars in a list, as one path.
struct Sparkline: Encodable, Sendable, Equatable {
  var counts: [Int]
  /// A text alternative for people who cannot see the bars.
  let summary: String
  let path: String
  let width: Int

  /// The height of the drawing; the template must have the same number.
  private static let height = 24.0

  init(_ points: [BarPlot.Point], period: String) {
    counts = points.map(\.count)
    width = max(1, counts.count * 4)
    let most = counts.max() ?? 0
    let all = counts.reduce(0.0) { $0 + Double($1) }
    summary = "\(Figure.rounded(all)) in \(period), at most \(Figure(most)) at once"
    path = counts.enumerated().compactMap { index, count in
      guard count > 0, most > 0 else { return nil }
      let tall = max(2, (Double(count) / Double(most) * Self.height).rounded())
      return "M\(index * 4) \(Int(Self.height))v-\(Int(tall))h3v\(Int(tall))z"
    }.joined()
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(counts)
  }
}
