/// A class that competes for a part of the quarantine memory.
public struct BudgetCandidate: Sendable, Hashable {
  /// The name of the class.
  ///
  /// Classes with equal gains are sorted by their names.
  public var name: String
  /// The number of use-after-free accesses per unit of time.
  ///
  /// The number is an estimate, or a random sample from `ClassEvidence.draw`.
  public var accessRate: Double
  /// The number of deallocations of the class per second in one process.
  public var deallocationsPerSecond: Double
  /// The number of bytes for one quarantined object: its allocation and its record.
  public var bytesPerSlot: Double
  /// The distribution of the delays between deallocation and use-after-free access for the class.
  public var delays: DelayCurve

  /// Creates a candidate from its parts.
  public init(
    name: String, accessRate: Double, deallocationsPerSecond: Double, bytesPerSlot: Double, delays: DelayCurve
  ) {
    self.name = name
    self.accessRate = accessRate
    self.deallocationsPerSecond = deallocationsPerSecond
    self.bytesPerSlot = bytesPerSlot
    self.delays = delays
  }

  /// Returns the number of use-after-free accesses per unit of time that a number of slots would catch.
  public func caught(slots: Double) -> Double {
    let rate = deallocationsPerSecond.amount
    return accessRate.amount * delays.share(within: rate > 0 ? slots / rate : (slots > 0 ? .infinity : 0))
  }

  /// Returns the number of additional accesses per unit of time that one more KiB of memory would catch.
  public func gainPerKiB(slots: Double) -> Double {
    guard bytesPerSlot.amount > 0 else { return 0 }
    // Use the same step as `BudgetSplit.hull`, so that both compute the same gains.
    let step = max(Double(BudgetSplit.firstStep), slots * 0.1)
    return max(0, caught(slots: slots + step) - caught(slots: slots)) / (step * bytesPerSlot / 1_024)
  }
}

/// Divides the quarantine memory of a process among the classes.
///
/// The goal is to catch as many use-after-free accesses as possible with a given budget.
///
/// For each class, a curve states how many accesses a number of slots catches. If the curve is concave, each further
/// slot gains less than the slot before it. If the curve is not concave, the split uses the concave hull of the curve.
/// For example, a curve is not concave if accesses come in two waves, soon and long after the release. After the first
/// wave is caught, further slots gain nothing until they keep objects long enough for the second wave. The split
/// assigns memory to the straight pieces of all hulls, in the order of their gain per byte. The result is optimal,
/// except that the last piece may fit only in part.
public enum BudgetSplit: Sendable {
  static let firstStep = 32

  /// Returns the number of slots for each candidate, in the order of the candidates.
  ///
  /// The memory of all these slots does not exceed the budget.
  public static func slots(for candidates: [BudgetCandidate], budgetBytes: Double) -> [Int] {
    let budget = budgetBytes.amount
    var pieces: [Piece] = []
    for (index, candidate) in candidates.enumerated() where candidate.bytesPerSlot.amount > 0 {
      pieces += hull(of: candidate, budgetBytes: budget).map { Piece(candidate: index, segment: $0) }
    }
    // The gains of the pieces of one class decrease. Therefore, sorting by gain does not change the order of these
    // pieces.
    pieces.sort {
      if $0.gainPerByte != $1.gainPerByte { return $0.gainPerByte > $1.gainPerByte }
      if $0.candidate != $1.candidate { return candidates[$0.candidate].name < candidates[$1.candidate].name }
      return $0.segment.start < $1.segment.start
    }

    var slots = [Int](repeating: 0, count: candidates.count)
    var isCut = [Bool](repeating: false, count: candidates.count)
    var left = budget
    for piece in pieces where !isCut[piece.candidate] && piece.segment.gainPerByte > 0 {
      let bytesPerSlot = candidates[piece.candidate].bytesPerSlot
      let wanted = piece.segment.end - piece.segment.start
      let affordable = Int(clamping: (left / bytesPerSlot).rounded(.down))
      isCut[piece.candidate] = affordable < wanted
      slots[piece.candidate] += min(wanted, affordable)
      left -= Double(min(wanted, affordable)) * bytesPerSlot
    }
    return slots
  }

  /// A straight piece of a curve's concave hull.
  struct Segment {
    var start: Int
    var end: Int
    var gainPerByte: Double
  }

  private struct Piece {
    var candidate: Int
    var segment: Segment
    var gainPerByte: Double { segment.gainPerByte }
  }

  /// Returns the upper concave hull of a class's curve, which states how many accesses a number of slots catches.
  ///
  /// The hull has points at increasing numbers of slots. Each step between two points is a tenth longer than the step
  /// before.
  static func hull(of candidate: BudgetCandidate, budgetBytes: Double) -> [Segment] {
    let most = min((budgetBytes / candidate.bytesPerSlot).rounded(.down), 0x1p40)
    guard most >= 1 else { return [] }
    var points = [(slots: 0.0, caught: 0.0)]
    var slots = 0.0
    while slots < most {
      slots = min(most, (slots + max(Double(firstStep), slots * 0.1)).rounded(.down))
      let point = (slots: slots, caught: candidate.caught(slots: slots))
      // Remove a point that is below the line from the point before it to the new point, because such a point is not on
      // the hull.
      while points.count >= 2,
        slope(points[points.count - 2], point) >= slope(points[points.count - 2], points[points.count - 1])
      {
        points.removeLast()
      }
      points.append(point)
    }
    return zip(points, points.dropFirst()).map { start, end in
      Segment(
        start: Int(start.slots), end: Int(end.slots), gainPerByte: slope(start, end) / candidate.bytesPerSlot)
    }
  }

  private static func slope(
    _ start: (slots: Double, caught: Double), _ end: (slots: Double, caught: Double)
  ) -> Double {
    (end.caught - start.caught) / (end.slots - start.slots)
  }
}
