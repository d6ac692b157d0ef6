import ArgumentParser
import CrashReport

/// Checks the words of `--source` and `--kind`, because crashd returns an empty list for an unknown word.
enum IncidentWords {
  static let sources = IncidentReport.Source.known.map(\.rawValue)
  static let kinds = IncidentReport.Kind.known.map(\.rawValue)

  @Sendable static func source(_ text: String) throws -> IncidentReport.Source {
    IncidentReport.Source(try checked(text, among: sources))
  }

  @Sendable static func kind(_ text: String) throws -> IncidentReport.Kind {
    IncidentReport.Kind(try checked(text, among: kinds))
  }

  /// Returns the text if it is one of the words, or a number.
  ///
  /// A number names a source or kind of a later version.
  private static func checked(_ text: String, among words: [String]) throws -> String {
    if words.contains(text) || Int(text) != nil { return text }
    throw ValidationError("it is one of \(words.joined(separator: ", "))")
  }
}
