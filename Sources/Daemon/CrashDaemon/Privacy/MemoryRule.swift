import CrashRing

/// Selects processes whose memory crashd must not store (setting `privacy.no-memory`).
///
/// A process is selected if it matches all keys of the rule.
public struct MemoryRule: Sendable, Equatable {
  /// A pattern for the path of the executable, as the process reports the path.
  public var executable: String?
  /// A pattern for the name of the process, as the process reports the name.
  public var name: String?
  /// A pattern for the systemd unit, including the suffix `.service`.
  public var unit: String?
  /// The numeric user ID of the process.
  public var user: UInt32?

  /// Creates an empty rule, which matches no process.
  public init() {}

  /// Whether the rule has no key.
  var isEmpty: Bool { self == MemoryRule() }

  /// Whether the rule matches a process.
  ///
  /// crashd has fewer facts about a process that left its crash records in a spool file than about an attached process.
  /// If the unit of the process is unknown, a rule with a unit matches. Matching is the safe choice, because the
  /// storage of memory cannot be undone for reports that were already delivered.
  func holds(for process: ProcessFacts) -> Bool {
    guard !isEmpty, user ?? process.peer.uid == process.peer.uid else { return false }
    if let executable, !Glob.matches(executable, process.identity.executable) { return false }
    if let name, !Glob.matches(name, process.identity.name) { return false }
    guard let unit else { return true }
    return process.unit.map { Glob.matches(unit, $0) } ?? !process.knowsUnit
  }
}

extension [MemoryRule] {
  /// Whether at least one rule of the array forbids storing the memory of a process.
  func hold(for process: ProcessFacts) -> Bool { contains { $0.holds(for: process) } }
}

extension ProcessFacts {
  /// Whether crashd has determined the systemd unit of the process.
  ///
  /// If `unit` is nil although crashd has read the start time from `/proc`, the process does not belong to a unit.
  fileprivate var knowsUnit: Bool { unit != nil || startTime != nil }
}

/// Matches names against patterns.
///
/// In a pattern, `*` matches zero or more bytes, which can include `/`.
///
/// `?` matches one byte.
enum Glob {
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
    var (place, at) = (0, 0)
    // The position of the last `*` in the pattern, and the end of the bytes in `text` that this `*` has matched. For
    // backtracking, only the last `*` is needed.
    var star: (place: Int, at: Int)?
    while at < text.count {
      if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
        star = (place, at)
        place += 1
      } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == text[at] {
        (place, at) = (place + 1, at + 1)
      } else if let last = star {
        star = (last.place, last.at + 1)
        (place, at) = (last.place + 1, last.at + 1)
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
