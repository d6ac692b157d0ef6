/// The evidence about the rate of use-after-free accesses of a class, as a gamma distribution.
///
/// Each hit (an access that the quarantine caught) makes the distribution narrower.
///
/// A class without slots cannot have hits and therefore gives no evidence. To give such a class slots as well, the
/// split of the budget uses a random sample from the gamma distribution (Thompson sampling, 1933). Each class then gets
/// slots with the probability that it has the most accesses of all classes. With slots, it can have hits, which give
/// evidence.
public struct ClassEvidence: Sendable, Hashable, Codable {
  /// The assumed share of missed accesses that lead to a crash whose report names the class.
  ///
  /// The assumption: half of the missed accesses lead to a crash, and the report of six in ten of these crashes names
  /// the class, from a freed-object record.
  public static let attributedShare = 0.3

  /// The shape of the gamma distribution: the number of observed accesses, plus 0.05 for the prior.
  public private(set) var shape = 0.05
  /// The rate of the gamma distribution: the number of periods in which an access to an object of the class would have
  /// been observed, plus 0.5 for the prior.
  public private(set) var exposure = 0.5

  /// Makes evidence that consists only of the prior.
  public init() {}

  /// Adds the observations of one period, such as an hour.
  ///
  /// The parameter `hits` is the number of hits in the quarantine. The parameter `attributedCrashes` is the number of
  /// crashes that were attributed to the class. The parameter `expectedShare` is the expected share of accesses that
  /// the slots of the class catch. The parameter `observesCrashes` states whether crashes can be attributed to the
  /// class. This requires that the process captures crashes and keeps freed-object records.
  public mutating func observe(
    hits: Double, attributedCrashes: Double = 0, expectedShare: Double, observesCrashes: Bool = true,
    periods: Double = 1
  ) {
    let caught = expectedShare.probability
    shape += hits.amount + (observesCrashes ? attributedCrashes.amount : 0)
    exposure += periods.amount * (caught + (observesCrashes ? Self.attributedShare * (1 - caught) : 0))
  }

  /// The expected number of accesses of the class per period.
  public var mean: Double { shape / exposure }

  /// Returns a random sample of the access rate from the distribution, for `BudgetCandidate.accessRate`.
  public func draw(using generator: inout some RandomNumberGenerator) -> Double {
    RandomVariates.gamma(shape: shape, &generator) / exposure
  }
}
