import CrashRing

/// Processes whose memory crashd does not store (`privacy.no-memory`): those that match all keys of a rule.
public struct MemoryRule: Sendable, Equatable {
  /// A pattern of the executable's path, as the process reports it.
  public var executable: String?
  /// A pattern of the process's name, as it reports it.
  public var name: String?
  /// A pattern of the systemd unit, with its `.service`.
  public var unit: String?
  /// The user's number.
  public var user: UInt32?

  /// An empty rule, which matches no process.
  public init() {}

  /// Whether the rule has no key.
  var isEmpty: Bool { self == MemoryRule() }

  /// Whether the rule matches a process.
  ///
  /// Less is known about the process of a spooled ring. A rule with a unit matches where the unit cannot be known:
  /// memory that was stored by mistake cannot be taken back.
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
  /// Whether a missing `unit` means that there is none: crashd read `/proc` while the process existed.
  fileprivate var knowsUnit: Bool { unit != nil || startTime != nil }
}

/// Patterns of names: `*` matches any characters, also none and `/`; `?` matches one byte.
enum Glob {
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
    var (place, at) = (0, 0)
    // The last `*`, and where its match ended: the search only ever backtracks to that one.
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
