import CrashProtocol
import CrashReport

/// The crashes that the fleet does not receive as whole reports, by group, build and hour.
///
/// Each count is the total since its counter was created. The fleet keeps the highest value of each counter, so a batch
/// that arrives twice changes nothing.
struct FleetCounters {
  private struct Key: Hashable {
    var group: String
    var program: String
    var build: String
    var hour: UInt64
  }

  private struct Count {
    /// A random number that identifies this counter.
    ///
    /// If crash-forward has forgotten a counter, its next crash creates a counter with another number. The fleet then
    /// adds the new count to the earlier one.
    let run = Int.random(in: 1...Int(Int32.max))
    var crashes = 0
    /// The facts of the group and its crash, which create the issue if the fleet does not have it yet.
    var facts: [String: JSONValue?]
  }

  /// The maximum number of counters in one batch.
  static let batch = 1_000
  /// The age in hours at which a counter no longer changes, and is forgotten.
  private static let age: UInt64 = 48

  private var counts: [Key: Count] = [:]
  private var changed: Set<Key> = []

  /// The number of counters that have changed since the fleet received them.
  var unsent: Int { changed.count }

  /// Returns the hour of a crash by this machine's clock, in hours since 1970.
  static func hour(of report: CrashReport) -> UInt64 {
    (Timestamp.nanoseconds(rfc3339: report.time) ?? 0) / 3_600_000_000_000
  }

  mutating func add(_ report: CrashReport) {
    let (process, group) = (report.process, report.group)
    let key = Key(group: group.key, program: process.name, build: process.buildID, hour: Self.hour(of: report))
    let facts: [String: JSONValue?] = [
      "group": .object(known: [
        "key": .string(group.key), "title": .string(group.title), "coarse": .text(group.coarse),
        "version": .int(group.version ?? 1),
      ]),
      "cause": .string(report.diagnosis.cause.rawValue), "signal": .string(report.signal.name),
    ]
    counts[key, default: Count(facts: facts)].crashes += 1
    changed.insert(key)
  }

  /// Returns the changed counters, as the values of `count` in the lines of a batch.
  func items() -> [JSONValue] {
    changed.compactMap { key in
      counts[key].map { count in
        let own: [String: JSONValue?] = [
          "program": .string(key.program), "build": .string(key.build), "hour": .int(Int(key.hour)),
          "run": .int(count.run), "crashes": .int(count.crashes),
        ]
        return .object(known: own.merging(count.facts) { $1 })
      }
    }
  }

  /// Records that the fleet has received all counters, and removes the counters that no longer change.
  mutating func markSent() {
    changed.removeAll()
    let newest = counts.keys.map(\.hour).max() ?? 0
    counts = counts.filter { $0.key.hour + Self.age > newest }
  }
}
