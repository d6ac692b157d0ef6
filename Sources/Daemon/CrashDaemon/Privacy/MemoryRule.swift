import CrashRing

/// Processes of whose memory nothing is kept (`privacy.no-memory`): those that are all that a rule says.
public struct MemoryRule: Sendable, Equatable {
  /// A pattern of the executable's path, as the process says it.
  public var executable: String?
  /// A pattern of the process's name, as it says it.
  public var name: String?
  /// A pattern of the systemd unit, with its `.service`.
  public var unit: String?
  /// The user's number.
  public var user: UInt32?

  /// A rule that says nothing, and so holds for nobody.
  public init() {}

  /// Whether it says anything.
  var isEmpty: Bool { self == MemoryRule() }

  /// Whether it holds for a process.
  ///
  /// Who left a ring in the spool is known by less: where the unit cannot be known, it may be the one that is meant, and
  /// what is kept by mistake cannot be taken back.
  func holds(for process: ProcessFacts) -> Bool {
    guard !isEmpty, user ?? process.peer.uid == process.peer.uid else { return false }
    if let executable, !Glob.matches(executable, process.identity.executable) { return false }
    if let name, !Glob.matches(name, process.identity.name) { return false }
    guard let unit else { return true }
    return process.unit.map { Glob.matches(unit, $0) } ?? !process.knowsUnit
  }
}

extension [MemoryRule] {
  /// Whether nothing of a process's memory is to be kept.
  func hold(for process: ProcessFacts) -> Bool { contains { $0.holds(for: process) } }
}

extension ProcessFacts {
  /// Whether `unit` is all there is to know: `/proc` told of the process while it was there.
  fileprivate var knowsUnit: Bool { unit != nil || startTime != nil }
}

/// Patterns of names: `*` stands for any characters, also none and `/`; `?` for one byte.
enum Glob {
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
    var (place, at) = (0, 0)
    // The last `*`, and how far the text was when it took one more: only that one is ever tried anew.
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
