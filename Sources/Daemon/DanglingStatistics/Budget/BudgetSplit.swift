/// A class that competes for quarantine memory.
public struct BudgetCandidate: Sendable, Hashable {
  /// The name of the class.
  ///
  /// It decides the order of classes with equal gains.
  public var name: String
  /// The use-after-free accesses per unit of time, measured or sampled by `ClassEvidence.draw`.
  public var accessRate: Double
  /// The deallocations per second in one process.
  public var deallocationsPerSecond: Double
  /// The bytes that one quarantined object costs, for its allocation and its record.
  public var bytesPerSlot: Double
  /// The delays of its use-after-free accesses.
  public var delays: DelayCurve

  /// Makes a candidate.
  public init(
    name: String, accessRate: Double, deallocationsPerSecond: Double, bytesPerSlot: Double, delays: DelayCurve
  ) {
    self.name = name
    self.accessRate = accessRate
    self.deallocationsPerSecond = deallocationsPerSecond
    self.bytesPerSlot = bytesPerSlot
    self.delays = delays
  }

  /// The use-after-free accesses per unit of time that this number of slots would catch.
  public func caught(slots: Double) -> Double {
    let rate = deallocationsPerSecond.amount
    return accessRate.amount * delays.share(within: rate > 0 ? slots / rate : (slots > 0 ? .infinity : 0))
  }

  /// The additional accesses per unit of time that the next KiB would catch.
  public func gainPerKiB(slots: Double) -> Double {
    guard bytesPerSlot.amount > 0 else { return 0 }
    // The step has the same length as in the split, so that the two agree.
    let step = max(Double(BudgetSplit.firstStep), slots * 0.1)
    return max(0, caught(slots: slots + step) - caught(slots: slots)) / (step * bytesPerSlot / 1_024)
  }
}

/// Splits the quarantine memory of a process among the classes, so that it catches as many use-after-free accesses as
/// possible.
///
/// More slots of a class catch more accesses. Where the curve of a class is concave, each further slot gains less.
/// Where it is not concave (accesses come in two waves), the concave hull of the curve is used, because half of a step
/// gains nothing by itself. The split takes pieces of all hulls in the order of their gain per byte. The result is
/// optimal up to the last piece.
public enum BudgetSplit: Sendable {
  static let firstStep = 32

  /// The slots for each candidate, in the order of the candidates.
  ///
  /// Together they cost at most the budget.
  public static func slots(for candidates: [BudgetCandidate], budgetBytes: Double) -> [Int] {
    let budget = budgetBytes.amount
    var pieces: [Piece] = []
    for (index, candidate) in candidates.enumerated() where candidate.bytesPerSlot.amount > 0 {
      pieces += hull(of: candidate, budgetBytes: budget).map { Piece(candidate: index, segment: $0) }
    }
    // Within a class, the gains decrease, so the sort keeps the pieces of a class in their order.
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

  /// The upper concave hull of the accesses that a class's slots catch, at steps that grow by a tenth.
  static func hull(of candidate: BudgetCandidate, budgetBytes: Double) -> [Segment] {
    let most = min((budgetBytes / candidate.bytesPerSlot).rounded(.down), 0x1p40)
    guard most >= 1 else { return [] }
    var points = [(slots: 0.0, caught: 0.0)]
    var slots = 0.0
    while slots < most {
      slots = min(most, (slots + max(Double(firstStep), slots * 0.1)).rounded(.down))
      let point = (slots: slots, caught: candidate.caught(slots: slots))
      // Remove a point below the line from its predecessor to the new point, because it is not on the hull.
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
