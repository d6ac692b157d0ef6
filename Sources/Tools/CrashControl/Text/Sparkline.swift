/// A row of numbers as a row of bars, one character each.
public enum Sparkline: Sendable {
  private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// Nothing is a dot, so that it differs from little; the greatest has the highest bar.
  public static func text(_ values: [Double]) -> String {
    let most = values.filter(\.isFinite).max() ?? 0
    return String(
      values.map { value in
        guard value > 0, most > 0 else { return "·" }
        guard value.isFinite else { return "█" }
        return bars[min(bars.count - 1, Int(value / most * Double(bars.count - 1)))]
      })
  }
}
