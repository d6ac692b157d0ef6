/// The facts that are more frequent in the crashes of a group than in the other crashes of the same programs.
///
/// crashd compares a sample if there are many crashes, and reads only reports that still exist.
public struct GroupContrast: Codable, Sendable, Equatable {
  /// A fact (key and value) that is more frequent in the group.
  public struct Finding: Codable, Sendable, Equatable {
    /// The key, such as `host` or `tag region`.
    public var key: String
    /// The value, such as `web-3`.
    public var value: String
    /// The number of compared crashes of the group with the value.
    public var inGroup: Int
    /// The number of other compared crashes with the value.
    public var inRest: Int
    /// The share of crashes with the value among the group's compared crashes.
    public var support: Double
    /// `support`, divided by the share of crashes with the value among all compared crashes.
    public var lift: Double
    /// The probability of such a difference by chance, corrected for the number of tests; at least 1e-300.
    public var probability: Double

    /// Creates a finding from its parts.
    package init(
      key: String, value: String, inGroup: Int, inRest: Int, support: Double, lift: Double, probability: Double
    ) {
      (self.key, self.value, self.inGroup, self.inRest) = (key, value, inGroup, inRest)
      (self.support, self.lift, self.probability) = (support, lift, probability)
    }
  }

  /// The whole key of the group.
  public var key: String
  /// The number of compared crashes of the group.
  public var groupCount: Int
  /// The number of stored crashes of the group.
  public var groupStored: Int
  /// The number of compared crashes of the same programs in other groups.
  public var restCount: Int
  /// The number of facts that were tested.
  public var tests: Int
  /// The findings, the least probable finding first; at most 20.
  public var findings: [Finding]

  /// Creates a contrast from its parts.
  package init(key: String, groupCount: Int, groupStored: Int, restCount: Int, tests: Int, findings: [Finding]) {
    (self.key, self.groupCount, self.groupStored, self.restCount) = (key, groupCount, groupStored, restCount)
    (self.tests, self.findings) = (tests, findings)
  }
}
