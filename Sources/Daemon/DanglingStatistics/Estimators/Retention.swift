import Glibc

/// How long a quarantine keeps an object, as the probability that the object is still in quarantine after a delay.
///
/// Each deallocated object goes to one of two pools. Most objects enter a queue (first in, first out) and stay until
/// `slots` further objects have entered it. This time has a gamma distribution. A random share of the objects goes to
/// the explorer instead, a pool in which each new object replaces a random object.
///
/// The times that objects stay in the explorer are spread over all lengths with known probabilities. Hits beyond the
/// horizon of the queue come from the explorer alone, and are weighted by these probabilities.
/// `CShim/Quarantine/Release/turn.h` implements both pools.
public struct Retention: Sendable, Hashable, Codable {
  /// The default share of objects that go to the explorer.
  public static let defaultExplorerShare = 0.05
  /// The explorer has one slot for this number of slots of the queue.
  public static let slotsPerExplorerSlot = 5

  /// The objects of the class that the queue holds in one process.
  public let slots: Double
  /// The deallocations per second of the class in one process.
  public let deallocationsPerSecond: Double
  /// The objects of the class that the explorer holds in one process.
  public let explorerSlots: Double
  /// The probability that an object goes to the explorer; 0 if the explorer has no slot.
  public let explorerShare: Double

  /// Makes a retention.
  ///
  /// Negative values, infinity and not-a-number count as 0.
  ///
  /// Without `explorerSlots`, the explorer has a fifth of the queue's slots, rounded down.
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

  /// The objects of the class that enter the queue per second.
  private var queued_1_s: Double { (1 - explorerShare) * deallocationsPerSecond }

  /// The mean time that an object stays in the queue, K/((1 − q)λ); infinite for a class without deallocations.
  public var horizon_s: Double {
    queued_1_s > 0 ? slots / queued_1_s : .infinity
  }

  /// The delay up to which hits of the explorer have usable weights.
  ///
  /// It is the mean time that an object stays in the explorer, or the horizon if that is longer.
  public var reach_s: Double {
    guard deallocationsPerSecond > 0, explorerShare > 0 else { return horizon_s }
    return max(horizon_s, explorerSlots / (explorerShare * deallocationsPerSecond))
  }

  /// The probability that an object went to the queue and is still in the queue after this delay.
  public func queueProbability(after delay_s: Double) -> Double {
    guard slots > 0 else { return 0 }
    return (1 - explorerShare) * Gamma.upperTail(shape: slots, at: queued_1_s * delay_s.amount)
  }

  /// The probability that an object went to the explorer and is still in the explorer after this delay.
  public func explorerProbability(after delay_s: Double) -> Double {
    guard explorerSlots > 0 else { return 0 }
    return explorerShare * exp(-explorerShare * deallocationsPerSecond * delay_s.amount / explorerSlots)
  }

  /// The probability that an access after this delay finds the object in quarantine.
  public func probability(after delay_s: Double) -> Double {
    queueProbability(after: delay_s) + explorerProbability(after: delay_s)
  }
}
