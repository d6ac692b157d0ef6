/// The kinds of guards, by the names that reports, the environment and crashctl use.
///
/// The names are those of `ShieldKind`. If the source of an incident is `guard`, the incident's kind has one of these
/// names.
public enum GuardKinds: Sendable {
  /// The names, indexed by number.
  ///
  /// The number 0 is unused.
  private static let all = [
    "", "index", "range", "mutation", "capacity", "duplicateKey", "missingValue", "stringIndex", "unwrap", "cast",
    "null", "try", "arithmetic", "conversion", "emptyRange", "zeroStride", "precondition", "timer", "notification",
    "observation", "message", "transition", "gate", "isolation", "handle", "continuation", "reference", "queue",
    "group", "source", "foundationRange", "json", "process", "fileHandle", "pipe", "memory",
  ]

  /// All names, sorted by number.
  public static var names: ArraySlice<String> { all.dropFirst() }

  /// Returns the name of a kind, or nil for an unknown number.
  public static func name(of number: Int) -> String? { number > 0 && number < all.count ? all[number] : nil }

  /// Returns the number of a kind, or nil for an unknown name.
  public static func number(of name: String) -> Int? { name.isEmpty ? nil : all.firstIndex(of: name) }
}
