/// The evidence about the rate of use-after-free accesses of a class, as a gamma distribution.
///
/// Each hit makes the distribution narrower.
///
/// A class without slots has no hits and gives no evidence. Therefore, the split of the budget uses a random sample
/// from this distribution (Thompson sampling, 1933). Each class then gets slots with the probability that it is the
/// class with the most accesses. With slots, the class gives evidence.
public struct ClassEvidence: Sendable, Hashable, Codable {
  /// The assumed share of missed accesses that lead to a crash which is attributed to the class.
  ///
  /// Half of the missed accesses lead to a crash. For six of ten of these crashes, a freed-object record contains the
  /// class.
  public static let attributedShare = 0.3

  /// The number of observed accesses, plus 0.05 for the prior.
  public private(set) var shape = 0.05
  /// The number of periods in which an access would have been observed, plus 0.5 for the prior.
  public private(set) var exposure = 0.5

  /// Makes evidence that consists only of the prior.
  public init() {}

  /// Adds one period.
  ///
  /// The parameters are the hits in the quarantine, the crashes that were attributed to the class, and the share of
  /// accesses that its slots were expected to catch. `observesCrashes` states whether crashes can be attributed to the
  /// class. The attribution requires that the process captures crashes and keeps freed-object records.
  public mutating func observe(
    hits: Double, attributedCrashes: Double = 0, expectedShare: Double, observesCrashes: Bool = true,
    periods: Double = 1
  ) {
    let caught = expectedShare.probability
    shape += hits.amount + (observesCrashes ? attributedCrashes.amount : 0)
    exposure += periods.amount * (caught + (observesCrashes ? Self.attributedShare * (1 - caught) : 0))
  }

  /// The expected number of accesses per period.
  public var mean: Double { shape / exposure }

  /// Returns a rate that is sampled from the evidence, for `BudgetCandidate.accessRate`.
  public func draw(using generator: inout some RandomNumberGenerator) -> Double {
    RandomVariates.gamma(shape: shape, &generator) / exposure
  }
}
