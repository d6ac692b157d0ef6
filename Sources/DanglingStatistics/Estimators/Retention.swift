import Glibc

/// How long a quarantine keeps an object: the probability that it is still there after a delay.
///
/// Each deallocated object enters a queue of `slots`, first in, first out: it stays until `slots` further deallocations
/// have come, a time of the gamma law. A share of them, chosen at random, is also put into the explorer, a pool in which
/// every newcomer takes the place of a random other: its times of stay are spread over all lengths with a known
/// probability. Hits beyond the queue's horizon come from the explorer alone, and their probabilities make them count.
public struct Retention: Sendable, Hashable, Codable {
  /// The explorer's share of objects, and of the class's slots, when nothing else is said.
  public static let defaultExplorerShare = 0.05
  /// The explorer has one slot for so many of the queue's.
  public static let slotsPerExplorerSlot = 5

  /// Objects of the class that the queue holds in one process.
  public let slots: Double
  /// Deallocations a second of the class in one process.
  public let deallocationsPerSecond: Double
  /// Objects of the class that the explorer holds in one process.
  public let explorerSlots: Double
  /// The probability that an object is put into the explorer as well.
  public let explorerShare: Double

  /// A retention; negative values and those that are no numbers count as 0.
  ///
  /// Without `explorerSlots` the explorer has a fifth of the queue's slots.
  public init(
    slots: Double, deallocationsPerSecond: Double, explorerSlots: Double? = nil,
    explorerShare: Double = Retention.defaultExplorerShare
  ) {
    self.slots = slots.amount
    self.deallocationsPerSecond = deallocationsPerSecond.amount
    self.explorerSlots = (explorerSlots ?? slots / Double(Retention.slotsPerExplorerSlot)).amount
    self.explorerShare = explorerShare.probability
  }

  /// The queue's mean time of stay, K/λ; infinite for a class without deallocations.
  public var horizon_s: Double {
    deallocationsPerSecond > 0 ? slots / deallocationsPerSecond : .infinity
  }

  /// The delay up to which the explorer's hits carry weights that an estimate can bear: its mean time of stay, or the
  /// horizon where that is longer.
  public var reach_s: Double {
    guard deallocationsPerSecond > 0, explorerShare > 0 else { return horizon_s }
    return max(horizon_s, explorerSlots / (explorerShare * deallocationsPerSecond))
  }

  /// The probability that the queue still holds an object so long after its deallocation.
  public func queueProbability(after delay_s: Double) -> Double {
    guard slots > 0 else { return 0 }
    return Gamma.upperTail(shape: slots, at: deallocationsPerSecond * delay_s.amount)
  }

  /// The probability that the explorer took the object and still holds it.
  public func explorerProbability(after delay_s: Double) -> Double {
    guard explorerSlots > 0 else { return 0 }
    return explorerShare * exp(-explorerShare * deallocationsPerSecond * delay_s.amount / explorerSlots)
  }

  /// The probability that an access after this delay finds the object, in one place or the other.
  public func probability(after delay_s: Double) -> Double {
    let queue = queueProbability(after: delay_s)
    return queue + (1 - queue) * explorerProbability(after: delay_s)
  }
}
