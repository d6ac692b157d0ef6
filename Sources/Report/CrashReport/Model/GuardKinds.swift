/// The names of the guard kinds.
///
/// Reports, environment variables and crashctl use these names. `ShieldKind` has the same names. If the source of an
/// incident is `guard`, the kind of the incident is one of these names.
public enum GuardKinds: Sendable {
  /// The names, indexed by the number of the kind.
  ///
  /// The number 0 is not used.
  private static let all = [
    "", "index", "range", "mutation", "capacity", "duplicateKey", "missingValue", "stringIndex", "unwrap", "cast",
    "null", "try", "arithmetic", "conversion", "emptyRange", "zeroStride", "precondition", "timer", "notification",
    "observation", "message", "transition", "gate", "isolation", "handle", "continuation", "reference", "queue",
    "group", "source", "foundationRange", "json", "process", "fileHandle", "pipe", "memory",
  ]

  /// All names, sorted by the number of the kind.
  public static var names: ArraySlice<String> { all.dropFirst() }

  /// Returns the name of a kind; nil if the number is unknown.
  public static func name(of number: Int) -> String? { number > 0 && number < all.count ? all[number] : nil }

  /// Returns the number of a kind; nil if the name is unknown.
  public static func number(of name: String) -> Int? { name.isEmpty ? nil : all.firstIndex(of: name) }
}
