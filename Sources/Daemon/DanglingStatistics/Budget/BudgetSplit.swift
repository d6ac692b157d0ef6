/// A class that asks for quarantine memory.
public struct BudgetCandidate: Sendable, Hashable {
  /// The class's name; it orders classes of equal worth.
  public var name: String
  /// Use-after-free accesses per unit of time: measured, or sampled by `ClassEvidence.draw`.
  public var accessRate: Double
  /// Deallocations a second in one process.
  public var deallocationsPerSecond: Double
  /// Bytes that one quarantined object costs: its allocation and its record.
  public var bytesPerSlot: Double
  /// The delays of its use-after-free accesses.
  public var delays: DelayCurve

  /// A candidate.
  public init(
    name: String, accessRate: Double, deallocationsPerSecond: Double, bytesPerSlot: Double, delays: DelayCurve
  ) {
    self.name = name
    self.accessRate = accessRate
    self.deallocationsPerSecond = deallocationsPerSecond
    self.bytesPerSlot = bytesPerSlot
    self.delays = delays
  }

  /// Use-after-free accesses per unit of time that so many slots would catch.
  public func caught(slots: Double) -> Double {
    let rate = deallocationsPerSecond.amount
    return accessRate.amount * delays.share(within: rate > 0 ? slots / rate : (slots > 0 ? .infinity : 0))
  }

  /// Additional accesses per unit of time that the next KiB would catch.
  public func gainPerKiB(slots: Double) -> Double {
    guard bytesPerSlot.amount > 0 else { return 0 }
    // A step as long as the split's own, so that the two agree.
    let step = max(Double(BudgetSplit.firstStep), slots * 0.1)
    return max(0, caught(slots: slots + step) - caught(slots: slots)) / (step * bytesPerSlot / 1_024)
  }
}

/// Splits the quarantine's memory of a process among the classes, so that most use-after-free accesses are caught.
///
/// The accesses caught grow with a class's slots, ever more slowly where its curve is concave. Where it is not
/// (accesses in two waves), the concave hull of the curve is used: half of a step is worth nothing by itself. Pieces of
/// all hulls are then taken in the order of their gain per byte, which is optimal up to the last piece.
public enum BudgetSplit: Sendable {
  static let firstStep = 32

  /// Slots for each candidate, in their order; together they cost at most the budget.
  public static func slots(for candidates: [BudgetCandidate], budgetBytes: Double) -> [Int] {
    let budget = budgetBytes.amount
    var pieces: [Piece] = []
    for (index, candidate) in candidates.enumerated() where candidate.bytesPerSlot.amount > 0 {
      pieces += hull(of: candidate, budgetBytes: budget).map { Piece(candidate: index, segment: $0) }
    }
    // Within a class the gains fall, so that the sort keeps its pieces in their order.
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

  /// A straight piece of a hull.
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

  /// The upper concave hull of what a class's slots catch, at steps that grow by a tenth.
  static func hull(of candidate: BudgetCandidate, budgetBytes: Double) -> [Segment] {
    let most = min((budgetBytes / candidate.bytesPerSlot).rounded(.down), 0x1p40)
    guard most >= 1 else { return [] }
    var points = [(slots: 0.0, caught: 0.0)]
    var slots = 0.0
    while slots < most {
      slots = min(most, (slots + max(Double(firstStep), slots * 0.1)).rounded(.down))
      let point = (slots: slots, caught: candidate.caught(slots: slots))
      // A point below the line from the one before it to the new one is not on the hull.
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
