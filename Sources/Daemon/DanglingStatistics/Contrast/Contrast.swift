import Glibc

/// Finds the facts that are more frequent in the crashes of a group than in other crashes.
///
/// Each fact is tested by the exact upper tail of the hypergeometric distribution. The probabilities are corrected for
/// the number of tests by Holm's method (Holm, 1979), which holds whatever the tests depend on. This matters, because
/// the facts of a crash depend on each other: a pod has one host, and a host has one kernel.
public enum Contrast: Sendable {
  /// A key with one of its values.
  public struct Fact: Sendable, Hashable {
    /// The key, such as `host`.
    public var key: String
    /// The value, such as `web-3`.
    public var value: String

    /// Creates a fact.
    public init(key: String, value: String) { (self.key, self.value) = (key, value) }
  }

  /// A fact that sets the group apart.
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
    /// It is the probability that a group without any relation to a fact has a fact that is at least as frequent.
    public var log10P: Double
  }

  /// The findings, and the number of tests.
  public struct Result: Sendable, Equatable {
    /// The facts that set the group apart, with the least probable one first.
    public var findings: [Finding]
    /// The number of facts that were tested.
    public var tests: Int
  }

  /// The corrected probability that a finding may have at most.
  public static let level = 0.05
  /// The values of a key that are tested, with the most frequent first.
  public static let valuesOfAKey = 100
  /// The maximum number of findings.
  public static let findingLimit = 20

  /// Compares the crashes of a group with other crashes.
  ///
  /// A fact is tested if at least two crashes have it and at least one has not. A fact of one crash, such as a trace id,
  /// cannot set a group apart. This choice, and the choice of the most frequent values, depend only on the crashes of
  /// both sides together, so the correction stays valid.
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
  /// Precondition: the probabilities are sorted, with the least first.
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

  /// The order of findings: the probability, then the lift, then the text, so that equal data has one order.
  private struct Order: Comparable {
    var parts: (Double, Double, String, String)

    init(_ finding: Finding) { parts = (finding.log10P, -finding.lift, finding.fact.key, finding.fact.value) }

    static func == (one: Order, other: Order) -> Bool { one.parts == other.parts }
    static func < (one: Order, other: Order) -> Bool { one.parts < other.parts }
  }
}
