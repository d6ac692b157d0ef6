/// The rules for scrubbing reports before they leave the machine.
public struct PrivacySettings: Sendable, Equatable {
  /// Parts of key names that mark a value as secret.
  ///
  /// An annotation is scrubbed if its key contains one of these parts. Upper-case and lower-case letters are treated as
  /// equal.
  public var annotations = [
    "password", "passwd", "secret", "token", "authorization", "cookie", "credential", "api-key", "api_key", "apikey",
  ]
  /// The regular expressions whose matches are scrubbed from all strings.
  public var patterns = [
    #"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]"#, #"[Bb]earer +[A-Za-z0-9._~+/=-]+"#,
  ]
  /// Whether reports contain the command line of their process.
  public var commandLine = true
  /// Whether user names are scrubbed from paths under `/home` and `/Users`.
  public var homeDirectories = true

  /// Creates the default rules.
  public init() {}
}

/// The reason why a pattern is invalid.
public struct PatternProblem: Error, Equatable, Sendable {
  /// The problem as readable text, such as `a ( has no )`.
  public var reason: String
}
