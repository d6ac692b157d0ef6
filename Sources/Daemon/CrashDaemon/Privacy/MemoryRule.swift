import CrashRing

/// Selects processes whose memory crashd does not store (`privacy.no-memory`).
///
/// A process must match all keys of a rule.
public struct MemoryRule: Sendable, Equatable {
  /// A pattern for the path of the executable, as the process reports it.
  public var executable: String?
  /// A pattern for the name of the process, as the process reports it.
  public var name: String?
  /// A pattern for the systemd unit, including the suffix `.service`.
  public var unit: String?
  /// The numeric user ID.
  public var user: UInt32?

  /// An empty rule, which matches no process.
  public init() {}

  /// Whether the rule has no key.
  var isEmpty: Bool { self == MemoryRule() }

  /// Whether the rule matches a process.
  ///
  /// For a spooled ring, crashd has fewer facts. If the unit is unknown, a rule with a unit matches, because memory
  /// stored by mistake cannot be withdrawn.
  func holds(for process: ProcessFacts) -> Bool {
    guard !isEmpty, user ?? process.peer.uid == process.peer.uid else { return false }
    if let executable, !Glob.matches(executable, process.identity.executable) { return false }
    if let name, !Glob.matches(name, process.identity.name) { return false }
    guard let unit else { return true }
    return process.unit.map { Glob.matches(unit, $0) } ?? !process.knowsUnit
  }
}

extension [MemoryRule] {
  /// Whether no memory of a process may be stored.
  func hold(for process: ProcessFacts) -> Bool { contains { $0.holds(for: process) } }
}

extension ProcessFacts {
  /// Whether a missing `unit` means that the process has none, because crashd read `/proc` while the process existed.
  fileprivate var knowsUnit: Bool { unit != nil || startTime != nil }
}

/// Matches names against patterns: `*` matches any number of bytes, including none and including `/`.
///
/// `?` matches one byte.
enum Glob {
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
    var (place, at) = (0, 0)
    // The last `*`, and the end of the text that it matches so far. The search backtracks only to the last `*`.
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
