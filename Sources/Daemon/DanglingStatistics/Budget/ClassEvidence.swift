/// The evidence of a class's rate of use-after-free accesses: a gamma law that hits narrow.
///
/// A class without slots gives no hits and no evidence about itself. Splitting the budget by a sample of this law
/// (Thompson, 1933) gives each class slots as often as it may be the worst one, and so finds out.
public struct ClassEvidence: Sendable, Hashable, Codable {
  /// The share of missed accesses that are assumed to end in a crash attributed to the class.
  ///
  /// Half of them crash, and freed-object records name six of ten of those.
  public static let attributedShare = 0.3

  /// Accesses seen, and the prior's twentieth of one.
  public private(set) var shape = 0.05
  /// Periods in which an access would have been seen, and the prior's half of one.
  public private(set) var exposure = 0.5

  /// Nothing known.
  public init() {}

  /// Adds one period: hits in the quarantine, crashes attributed to the class, and the share of accesses that its slots
  /// were expected to catch.
  ///
  /// `observesCrashes`: whether crashes of this class would be attributed at all (crash capture on, freed-object
  /// records kept).
  public mutating func observe(
    hits: Double, attributedCrashes: Double = 0, expectedShare: Double, observesCrashes: Bool = true,
    periods: Double = 1
  ) {
    let caught = expectedShare.probability
    shape += hits.amount + (observesCrashes ? attributedCrashes.amount : 0)
    exposure += periods.amount * (caught + (observesCrashes ? Self.attributedShare * (1 - caught) : 0))
  }

  /// The expected accesses per period.
  public var mean: Double { shape / exposure }

  /// A rate sampled from the evidence, for `BudgetCandidate.accessRate`.
  public func draw(using generator: inout some RandomNumberGenerator) -> Double {
    RandomVariates.gamma(shape: shape, &generator) / exposure
  }
}
