internal import Glibc

/// The detection probability of each class against the memory of its quarantine, on a logarithmic axis.
struct DetectionPlot: Sendable, Equatable {
  /// A class with its estimated detection probability and the confidence interval.
  struct Mark: Sendable, Equatable {
    var x, y, top, bottom: String
    var label: String
  }

  /// A line of the grid with its label.
  struct Line: Sendable, Equatable {
    var at: String
    var label: String
  }

  let marks: [Mark]
  let columns: [Line]
  let rows: [Line]
  let summary: String

  /// The area of the plot inside the SVG of 652 × 240.
  private static let area = (left: 48.0, top: 12.0, width: 580.0, height: 190.0)

  /// Creates a plot; nil if no class has an estimate.
  init?(_ classes: [UseAfterFree.Class]) {
    let known = classes.compactMap { item -> (UseAfterFree.Class, Double)? in
      guard let detection = item.detection, detection.isFinite, item.bytes.isFinite else { return nil }
      return (item, min(1, max(0, detection)))
    }
    guard !known.isEmpty else { return nil }
    // The labels are powers of 4 from 256 bytes to the greatest memory, so that they are few.
    let sizes = known.map { log2(max(256, $0.0.bytes)) / 2 }
    let low = (sizes.min() ?? 4).rounded(.down)
    let high = max(low + 2, (sizes.max() ?? low).rounded(.up))
    let area = Self.area
    let x = { (bytes: Double) in area.left + (log2(max(256, bytes)) / 2 - low) / (high - low) * area.width }
    let y = { (share: Double) in area.top + (1 - min(1, max(0, share))) * area.height }
    marks = known.prefix(200).map { item, detection in
      Mark(
        x: Figure.coordinate(x(item.bytes)), y: Figure.coordinate(y(detection)),
        top: Figure.coordinate(y(item.upper ?? detection)), bottom: Figure.coordinate(y(item.lower ?? detection)),
        label: "\(CrashText.clip(item.name, to: 80)): \(Figure.percent(detection)) with \(Figure.size(item.bytes))")
    }
    let step = max(1, ((high - low) / 8).rounded(.up))
    columns = stride(from: low, through: high, by: step).map { power in
      Line(at: Figure.coordinate(x(exp2(power * 2))), label: Figure.size(exp2(power * 2)))
    }
    rows = [0, 0.25, 0.5, 0.75, 1].map { Line(at: Figure.coordinate(y($0)), label: Figure.percent($0).description) }
    let classes = Figure(known.count).counted("class", "classes")
    summary = "Detection probability of \(classes) against the memory of the quarantine"
  }
}

/// The distribution of the delays from the last release to the access, on a logarithmic axis.
enum DelayPlot {
  /// The lower bounds of the bars, in nanoseconds.
  private static let bounds: [Int] = [
    0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000,
  ]

  static func plot(_ delays_ns: [Int]) -> BarPlot {
    var counts = [Int](repeating: 0, count: bounds.count)
    for delay in delays_ns { counts[bounds.lastIndex { $0 <= max(0, delay) } ?? 0] += 1 }
    let points = zip(bounds.indices, counts).map { index, count in
      let low = Figure.duration(Double(bounds[index]))
      let label =
        index + 1 < bounds.count ? "\(low) to \(Figure.duration(Double(bounds[index + 1])))" : "\(low) or more"
      return BarPlot.Point(label: label, count: count)
    }
    return BarPlot(
      points, summary: "Delays of \(Figure(delays_ns.count).counted("access", "accesses"))", height: 80,
      ticks: ["0", "10 µs", "1 ms", "100 ms", "10 s"], ticksStartParts: true)
  }
}
