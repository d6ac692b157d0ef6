import CrashProtocol
import CrashReport
import CrashStore
import DanglingStatistics
import Glibc

/// Extracts from a report the facts with which a contrast finds what distinguishes a group's crashes from other
/// crashes.
///
/// Numbers become ranges, because two crashes rarely have equal numbers. Values are shortened, and control characters
/// are removed.
enum ContrastFacts {
  /// The maximum lengths of values and of tag keys, in characters.
  private static let (valueLength, keyLength) = (120, 40)
  /// The maximum number of arguments and of tags of one crash.
  private static let wordLimit = 32

  /// The report fields whose values are facts, with the names that operators see.
  private static let texts = [
    ("build", "process.buildID"), ("unit", "process.unit"), ("swift", "process.swiftVersion"),
    ("architecture", "process.architecture"), ("uid", "process.uid"), ("host", "machine.host"),
    ("kernel", "machine.kernel"), ("distribution", "machine.distribution"), ("CPU", "machine.processor"),
    ("CPUs", "machine.processors"), ("pod", "container.pod"), ("namespace", "container.namespace"),
    ("node", "container.node"), ("runtime", "container.runtime"), ("release", "release"),
    ("environment", "environment"), ("route", "threads[0].request.operation"),
  ]

  static func facts(_ fields: ContrastFields) -> Set<Contrast.Fact> {
    var facts: Set<Contrast.Fact> = []
    func add(_ key: String, _ value: String?) {
      guard let value, !value.isEmpty else { return }
      facts.insert(.init(key: key, value: CleanText.line(String(value.prefix(valueLength)))))
    }
    for (key, name) in texts { add(key, text(fields.values[name])) }
    add("thread", thread(fields))
    add("hour", fields.values["time"]?.string.map { "\($0.dropFirst(11).prefix(2)):00 UTC" })
    add("uptime", fields.values["process.uptime_ms"]?.int.map(uptime))
    add("requests", fields.values["inFlight.total"]?.int.map(requests))
    add("memory", memory(fields))
    // Omit the first word, which is the program. Compare the arguments one by one, independently of their positions.
    let words = fields.values["process.commandLine"]?.string?.split(separator: " ") ?? []
    for word in words.dropFirst().prefix(wordLimit) { add("argument", String(word)) }
    if case .object(let tags) = fields.values["annotations"] {
      for (key, value) in tags.sorted(by: { $0.key < $1.key }).prefix(wordLimit)
      where CrashReport.WellKnown(rawValue: key) == nil {
        add("tag \(CleanText.line(String(key.prefix(keyLength))))", value.string)
      }
    }
    return facts
  }

  private static func text(_ value: JSONValue?) -> String? { value?.string ?? value?.int.map(String.init) }

  /// The name of the crashed thread without numbers.
  private static func thread(_ fields: ContrastFields) -> String? {
    guard let tid = fields.values["threads[0].tid"]?.int else { return nil }
    if case .object = fields.values["threads[0].task"] { return "task" }
    if tid == fields.values["process.pid"]?.int { return "main" }
    let name = fields.values["threads[0].name"]?.string ?? ""
    // The names of the threads of a pool differ only in their numbers.
    return name.isEmpty ? "other" : String(name.filter { !$0.isNumber })
  }

  private static func uptime(_ milliseconds: Int) -> String {
    switch milliseconds {
    case ..<10_000: "below 10 s"
    case ..<60_000: "10 s to 1 min"
    case ..<3_600_000: "1 min to 1 h"
    case ..<86_400_000: "1 h to 1 d"
    default: "over 1 d"
    }
  }

  private static func requests(_ count: Int) -> String {
    switch count {
    case ..<1: "none in flight"
    case 1: "1 in flight"
    case ..<10: "2 to 9 in flight"
    case ..<100: "10 to 99 in flight"
    default: "100 or more in flight"
    }
  }

  /// The resident memory, as a share of the memory limit.
  private static func memory(_ fields: ContrastFields) -> String? {
    guard let resident = fields.values["resources.residentBytes"]?.int, resident >= 0,
      let limit = fields.values["resources.memoryLimitBytes"]?.int, limit > 0
    else { return nil }
    switch Double(resident) / Double(limit) {
    case 0.9...: return "90 % of the limit or more"
    case 0.5...: return "50 to 90 % of the limit"
    default: return "below 50 % of the limit"
    }
  }
}

extension ContrastSample {
  /// The facts that distinguish this group from others.
  var contrast: GroupContrast {
    let result = Contrast.result(group: group.map(ContrastFacts.facts), rest: rest.map(ContrastFacts.facts))
    return GroupContrast(
      key: key, groupCount: group.count, groupStored: groupStored, restCount: rest.count, tests: result.tests,
      findings: result.findings.map { finding in
        .init(
          key: finding.fact.key, value: finding.fact.value, inGroup: finding.inGroup, inRest: finding.inRest,
          support: finding.support, lift: finding.lift, probability: pow(10, max(finding.log10P, -300)))
      })
  }
}
