import Glibc

/// How long a quarantine keeps an object: the probability that it is still in it after a delay.
///
/// Each deallocated object goes to one of two pools. Most enter a queue of `slots`, first in, first out, until `slots`
/// further objects have entered the queue, a time of the gamma law. A share of them, chosen at random, goes to the
/// explorer instead, a pool in which every new object replaces a random other. So its times of stay are spread over all
/// lengths with a known probability. Hits beyond the queue's horizon come from the explorer alone, and their
/// probabilities make them count. `CShim/Quarantine/Release/turn.h` implements it.
public struct Retention: Sendable, Hashable, Codable {
  /// The explorer's default share of objects, and of the class's slots.
  public static let defaultExplorerShare = 0.05
  /// The explorer has one slot for so many of the queue's.
  public static let slotsPerExplorerSlot = 5

  /// Objects of the class that the queue holds in one process.
  public let slots: Double
  /// Deallocations a second of the class in one process.
  public let deallocationsPerSecond: Double
  /// Objects of the class that the explorer holds in one process.
  public let explorerSlots: Double
  /// The probability that an object goes to the explorer; 0 where that has no slot.
  public let explorerShare: Double

  /// A retention; negative values and those that are no numbers count as 0.
  ///
  /// Without `explorerSlots` the explorer has a fifth of the queue's slots, rounded down.
  public init(
    slots: Double, deallocationsPerSecond: Double, explorerSlots: Double? = nil,
    explorerShare: Double = Retention.defaultExplorerShare
  ) {
    self.slots = slots.amount
    self.deallocationsPerSecond = deallocationsPerSecond.amount
    self.explorerSlots =
      (explorerSlots ?? (slots.amount / Double(Retention.slotsPerExplorerSlot)).rounded(.down)).amount
    self.explorerShare = self.explorerSlots > 0 ? explorerShare.probability : 0
  }

  /// Objects of the class per second that enter the queue.
  private var queued_1_s: Double { (1 - explorerShare) * deallocationsPerSecond }

  /// The queue's mean time of stay, K/((1 − q)λ); infinite for a class without deallocations.
  public var horizon_s: Double {
    queued_1_s > 0 ? slots / queued_1_s : .infinity
  }

  /// The delay up to which the explorer's hits carry weights that an estimate can bear: its mean time of stay, or the
  /// horizon where that is longer.
  public var reach_s: Double {
    guard deallocationsPerSecond > 0, explorerShare > 0 else { return horizon_s }
    return max(horizon_s, explorerSlots / (explorerShare * deallocationsPerSecond))
  }

  /// The probability that the object went to the queue and is still in it so long after its deallocation.
  public func queueProbability(after delay_s: Double) -> Double {
    guard slots > 0 else { return 0 }
    return (1 - explorerShare) * Gamma.upperTail(shape: slots, at: queued_1_s * delay_s.amount)
  }

  /// The probability that the object went to the explorer and is still in it.
  public func explorerProbability(after delay_s: Double) -> Double {
    guard explorerSlots > 0 else { return 0 }
    return explorerShare * exp(-explorerShare * deallocationsPerSecond * delay_s.amount / explorerSlots)
  }

  /// The probability that an access after this delay finds the object in quarantine.
  public func probability(after delay_s: Double) -> Double {
    queueProbability(after: delay_s) + explorerProbability(after: delay_s)
  }
}
