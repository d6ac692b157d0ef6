import Glibc

/// The probability that an object is still in quarantine after a given time since its deallocation (the delay).
///
/// Each deallocated object enters one of two pools. Most objects enter a queue (first in, first out), and stay in it
/// until `slots` further objects have entered the queue. The time that an object stays in the queue has a gamma
/// distribution. The other objects, which are chosen at random, enter the explorer instead. In the explorer, each new
/// object replaces an object that is chosen at random.
///
/// Some objects stay in the explorer for a short time, and some for a very long time; the distribution of this time is
/// known. Only objects in the explorer can have hits whose delay is longer than the horizon (the mean time in the
/// queue). The estimators weight these hits with the known probabilities. `CShim/Quarantine/Release/turn.h` implements
/// both pools.
public struct Retention: Sendable, Hashable, Codable {
  /// The default share of objects that enter the explorer.
  public static let defaultExplorerShare = 0.05
  /// The number of queue slots for each slot of the explorer.
  public static let slotsPerExplorerSlot = 5

  /// The maximum number of objects of the class in the queue of one process.
  public let slots: Double
  /// The number of deallocations of the class per second in one process.
  public let deallocationsPerSecond: Double
  /// The maximum number of objects of the class in the explorer of one process.
  public let explorerSlots: Double
  /// The probability that a deallocated object enters the explorer; 0 if the explorer has no slots.
  public let explorerShare: Double

  /// Creates a value for a class.
  ///
  /// Negative values, infinity and not-a-number are treated as 0. If `explorerSlots` is nil, the number of explorer
  /// slots is a fifth of the queue's slots, rounded down.
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

  /// The number of objects of the class that enter the queue per second.
  private var queued_1_s: Double { (1 - explorerShare) * deallocationsPerSecond }

  /// The mean time that an object stays in the queue, K/((1 − q)λ); infinite if no objects of the class are
  /// deallocated.
  ///
  /// K is `slots`, q is `explorerShare`, and λ is `deallocationsPerSecond`.
  public var horizon_s: Double {
    queued_1_s > 0 ? slots / queued_1_s : .infinity
  }

  /// The maximum delay for which hits on objects in the explorer have usable weights, in seconds.
  ///
  /// The reach is the mean time that an object stays in the explorer, or the horizon if the horizon is longer.
  public var reach_s: Double {
    guard deallocationsPerSecond > 0, explorerShare > 0 else { return horizon_s }
    return max(horizon_s, explorerSlots / (explorerShare * deallocationsPerSecond))
  }

  /// Returns the probability that a deallocated object entered the queue and is still in the queue after a delay.
  public func queueProbability(after delay_s: Double) -> Double {
    guard slots > 0 else { return 0 }
    return (1 - explorerShare) * Gamma.upperTail(shape: slots, at: queued_1_s * delay_s.amount)
  }

  /// Returns the probability that a deallocated object entered the explorer (the pool with random eviction) and is
  /// still there after a delay.
  public func explorerProbability(after delay_s: Double) -> Double {
    guard explorerSlots > 0 else { return 0 }
    return explorerShare * exp(-explorerShare * deallocationsPerSecond * delay_s.amount / explorerSlots)
  }

  /// Returns the probability that an object is still in quarantine after a delay.
  public func probability(after delay_s: Double) -> Double {
    queueProbability(after: delay_s) + explorerProbability(after: delay_s)
  }
}
