/// Measured values of one thing, in one unit.
struct Samples {
  private(set) var values: [Double] = []

  mutating func add(_ value: Double) { values.append(value) }

  var median: Double { percentile(0.5) }

  /// The value below which `share` of the samples lie; 0 when there are none.
  func percentile(_ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }
}
