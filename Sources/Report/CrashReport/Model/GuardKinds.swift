/// The kinds of guards, by the names that reports, the environment and crashctl use.
///
/// They are those of `ShieldKind`; a report has them as the kind of an incident whose source is `guard`.
public enum GuardKinds: Sendable {
  /// By number; 0 is unused.
  private static let all = [
    "", "index", "range", "mutation", "capacity", "duplicateKey", "missingValue", "stringIndex", "unwrap", "cast",
    "null", "try", "arithmetic", "conversion", "emptyRange", "zeroStride", "precondition", "timer", "notification",
    "observation", "message", "transition", "gate", "isolation", "handle", "continuation", "reference", "queue",
    "group", "source", "foundationRange", "json", "process", "fileHandle", "pipe", "memory",
  ]

  /// All names, in the order of their numbers.
  public static var names: ArraySlice<String> { all.dropFirst() }

  /// The name of a kind; nil for a number that this version does not know.
  public static func name(of number: Int) -> String? { number > 0 && number < all.count ? all[number] : nil }

  /// The number of a kind; nil for a name that this version does not know.
  public static func number(of name: String) -> Int? { name.isEmpty ? nil : all.firstIndex(of: name) }
}
