/// The evidence about a class's rate of use-after-free accesses, as a gamma distribution that becomes narrower with
/// hits.
///
/// A class without slots has no hits and yields no evidence. The budget is therefore split by a sample from this
/// distribution (Thompson sampling, 1933). Each class then gets slots with the probability that it is the worst class,
/// and yields evidence.
public struct ClassEvidence: Sendable, Hashable, Codable {
  /// The assumed share of missed accesses that end in a crash which is attributed to the class.
  ///
  /// Half of the missed accesses crash, and freed-object records name the class in six of ten of these crashes.
  public static let attributedShare = 0.3

  /// The accesses that were observed, plus 0.05 for the prior.
  public private(set) var shape = 0.05
  /// The periods in which an access would have been observed, plus 0.5 for the prior.
  public private(set) var exposure = 0.5

  /// Makes evidence that consists of the prior only.
  public init() {}

  /// Adds one period, with its hits in the quarantine, the crashes attributed to the class, and the share of accesses
  /// that its slots were expected to catch.
  ///
  /// `observesCrashes` states whether crashes can be attributed to the class. This requires that crash capture is on
  /// and freed-object records are kept.
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

  /// A rate sampled from the evidence, for `BudgetCandidate.accessRate`.
  public func draw(using generator: inout some RandomNumberGenerator) -> Double {
    RandomVariates.gamma(shape: shape, &generator) / exposure
  }
}
