/// Samples of one quantity, in one unit.
struct Samples {
  private(set) var values: [Double] = []

  mutating func add(_ value: Double) { values.append(value) }

  var median: Double { percentile(0.5) }

  /// Returns the value that this share of the samples does not exceed (0.95 for the 95th percentile), or 0 if there are
  /// no samples.
  func percentile(_ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }
}
