public import CrashProtocol
public import CrashReport

/// Parses the arguments of `crashctl guards`, and formats its tables.
public enum GuardText: Sendable {
  /// The error for an unknown kind or mode.
  public struct Mistake: Error, Equatable {
    /// The message, with a suggestion if a known name is similar.
    public var message: String
  }

  /// The argument that selects all kinds.
  public static let allKinds = "all"

  /// The possible arguments for a kind, separated by commas.
  public static var kinds: String { GuardKinds.names.joined(separator: ", ") }

  /// Parses the argument of a kind.
  ///
  /// Returns nil for the argument that selects all kinds.
  public static func kind(_ word: String) throws(Mistake) -> String? {
    if word == allKinds { return nil }
    if GuardKinds.number(of: word) != nil { return word }
    throw mistake("kind", word, among: [allKinds] + GuardKinds.names)
  }

  /// Parses the argument of a mode.
  ///
  /// The mode `program` removes the override.
  public static func mode(_ word: String) throws(Mistake) -> IncidentReport.Mode {
    let modes: [IncidentReport.Mode] = [.off, .observe, .absorb, .program]
    if let mode = modes.first(where: { $0.rawValue == word }) { return mode }
    throw mistake("mode", word, among: modes.map(\.rawValue))
  }

  private static func mistake(_ what: String, _ word: String, among names: [String]) -> Mistake {
    let meant = Spelling.meant(word, among: names)
    return Mistake(
      message: "there is no \(what) '\(word)' of guards" + (meant.isEmpty ? ": see crashctl guards set --help" : meant))
  }

  /// Formats the overrides of guard modes, one line per program and kind.
  ///
  /// Implicit guards and guards at call sites have separate lines.
  public static func list(_ services: [GuardService], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "NAME", minimum: 8, maximum: 24, style: .bold),
      .init(title: "UID", alignsRight: true, dropOrder: 3, common: "uid"),
      .init(title: "KIND"),
      .init(title: "MODE", style: .bold),
      .init(title: "GUARDS", dropOrder: 2, common: "guards"),
      .init(title: "APPLIED", alignsRight: true),
      .init(title: "PROGRAM", minimum: 12, cut: .beginning, dropOrder: 1, style: .dim),
    ]
    let rows = services.flatMap { service in
      (lines(service.modes, "at call sites") + lines(service.implicitModes, "implicit")).map { line in
        [
          service.name, "\(service.uid)", line.kind, line.mode, line.guards, "\(service.applied)/\(service.processes)",
          service.program,
        ].map(CleanText.line)
      }
    }
    let refusals = services.compactMap { service in
      service.refusal.map { CleanText.line("\(service.name): a process refused: \($0)") + "\n" }
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend) + refusals.joined()
  }

  /// Formats the modes of one program, in a single line if all kinds have the same mode.
  private static func lines(
    _ modes: [String: String], _ guards: String
  ) -> [(kind: String, mode: String, guards: String)] {
    if let only = Set(modes.values).first, Set(modes.values).count == 1, modes.count >= GuardKinds.names.count {
      return [(allKinds, only, guards)]
    }
    return modes.sorted { $0.key < $1.key }.map { ($0.key, $0.value, guards) }
  }
}
