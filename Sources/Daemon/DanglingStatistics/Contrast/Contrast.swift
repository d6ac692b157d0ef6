import Glibc

/// Finds the facts (keys with values) that are more frequent in the crashes of a group than in other crashes.
///
/// Each fact is tested by the exact upper tail of the hypergeometric distribution. The probabilities are corrected for
/// the number of tests by Holm's method (Holm, 1979), which is valid even if the tests depend on each other. Here they
/// do depend on each other, because the facts of a crash do: for example, a pod has one host, and a host has one
/// kernel.
public enum Contrast: Sendable {
  /// A property of a crash: a key and a value.
  public struct Fact: Sendable, Hashable {
    /// The key, such as `host`.
    public var key: String
    /// The value, such as `web-3`.
    public var value: String

    /// Creates a fact.
    public init(key: String, value: String) { (self.key, self.value) = (key, value) }
  }

  /// A fact that is significantly more frequent in the group than in the other crashes.
  public struct Finding: Sendable, Equatable {
    /// The fact.
    public var fact: Fact
    /// The number of crashes of the group with the fact.
    public var inGroup: Int
    /// The number of other crashes with the fact.
    public var inRest: Int
    /// The share of the group's crashes with the fact.
    public var support: Double
    /// The support, divided by the share of all compared crashes with the fact.
    public var lift: Double
    /// The decimal logarithm of the corrected probability.
    ///
    /// If a group is unrelated to all facts, this is the probability that by chance one of its facts is at least as
    /// improbable.
    public var log10P: Double
  }

  /// The findings, and the number of tests.
  public struct Result: Sendable, Equatable {
    /// The facts that distinguish the group, the one with the lowest corrected probability first.
    public var findings: [Finding]
    /// The number of facts that were tested.
    public var tests: Int
  }

  /// The maximum corrected probability of a finding.
  public static let level = 0.05
  /// The maximum number of values that are tested for each key.
  ///
  /// If a key has more, the most frequent ones are tested.
  public static let valuesOfAKey = 100
  /// The maximum number of findings.
  public static let findingLimit = 20

  /// Compares the crashes of a group with other crashes.
  ///
  /// A fact is tested if at least two crashes have it and at least one crash does not have it. A fact that only one
  /// crash has, such as a trace ID, cannot distinguish a group. The choice of the tested facts does not depend on which
  /// of the compared crashes belong to the group. Therefore, the correction is valid.
  /// - Complexity: O(facts + tests × log(tests) + tests × crashes of the group).
  public static func result(group: [Set<Fact>], rest: [Set<Fact>]) -> Result {
    let (sample, total) = (group.count, group.count + rest.count)
    guard sample > 0, !rest.isEmpty else { return Result(findings: [], tests: 0) }
    let (inGroup, inRest) = (counts(group), counts(rest))
    var tested: [String: [(value: String, count: Int)]] = [:]
    for fact in Set(inGroup.keys).union(inRest.keys) {
      let count = inGroup[fact, default: 0] + inRest[fact, default: 0]
      if count > 1, count < total { tested[fact.key, default: []].append((fact.value, count)) }
    }
    var findings: [Finding] = []
    for (key, values) in tested {
      for (value, count) in values.sorted(by: { ($1.count, $0.value) < ($0.count, $1.value) }).prefix(valuesOfAKey) {
        let fact = Fact(key: key, value: value)
        let found = inGroup[fact, default: 0]
        let support = Double(found) / Double(sample)
        findings.append(
          Finding(
            fact: fact, inGroup: found, inRest: count - found, support: support,
            lift: support * Double(total) / Double(count),
            log10P: Hypergeometric.upperTailLog10(found: found, sample: sample, marked: count, total: total)))
      }
    }
    findings.sort { Order($0) < Order($1) }
    let corrected = holm(findings.map(\.log10P))
    for index in findings.indices { findings[index].log10P = corrected[index] }
    let tests = findings.count
    let significant = findings.prefix { $0.log10P <= log10Level }
    return Result(findings: Array(significant.prefix(findingLimit)), tests: tests)
  }

  private static let log10Level = log10(level)

  /// Returns probabilities that are corrected by Holm's method, all as decimal logarithms.
  ///
  /// Precondition: the probabilities are sorted in ascending order.
  static func holm(_ sorted: [Double]) -> [Double] {
    var greatest = -Double.infinity
    return sorted.enumerated().map { index, log10P in
      greatest = max(greatest, log10P + log10(Double(sorted.count - index)))
      return min(0, greatest)
    }
  }

  private static func counts(_ crashes: [Set<Fact>]) -> [Fact: Int] {
    var counts: [Fact: Int] = [:]
    for facts in crashes { for fact in facts { counts[fact, default: 0] += 1 } }
    return counts
  }

  /// Sorts findings by probability, then by lift, then by text, so that equal data always yields the same order.
  private struct Order: Comparable {
    var parts: (Double, Double, String, String)

    init(_ finding: Finding) { parts = (finding.log10P, -finding.lift, finding.fact.key, finding.fact.value) }

    static func == (one: Order, other: Order) -> Bool { one.parts == other.parts }
    static func < (one: Order, other: Order) -> Bool { one.parts < other.parts }
  }
}
