/// The rules for scrubbing reports before they leave the machine.
public struct PrivacySettings: Sendable, Equatable {
  /// Annotations whose key contains one of these, in upper or lower case, lose their value.
  public var annotations = [
    "password", "passwd", "secret", "token", "authorization", "cookie", "credential", "api-key", "api_key", "apikey",
  ]
  /// Matches of these regular expressions are scrubbed from every text.
  public var patterns = [
    #"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]"#, #"[Bb]earer +[A-Za-z0-9._~+/=-]+"#,
  ]
  /// Whether reports have the command line of their process.
  public var commandLine = true
  /// Whether user names are scrubbed from paths under `/home` and `/Users`.
  public var homeDirectories = true

  /// The default rules.
  public init() {}
}

/// Why a pattern is invalid.
public struct PatternProblem: Error, Equatable, Sendable {
  /// Such as `a ( has no )`.
  public var reason: String
}
