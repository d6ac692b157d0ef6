/// What is taken out of reports before they leave.
public struct PrivacySettings: Sendable, Equatable {
  /// Annotations whose key contains one of these, in any case of letters, lose their value.
  public var annotations = [
    "password", "passwd", "secret", "token", "authorization", "cookie", "credential", "api-key", "api_key", "apikey",
  ]
  /// What matches one of these regular expressions is taken out of every text.
  public var patterns = [
    #"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]"#, #"[Bb]earer +[A-Za-z0-9._~+/=-]+"#,
  ]
  /// Whether the names of users go from paths under `/home` and `/Users`.
  public var homeDirectories = true

  /// Those that hold without settings.
  public init() {}
}

/// Why a pattern is not understood.
public struct PatternProblem: Error, Equatable, Sendable {
  /// Such as `a ( has no )`.
  public var reason: String
}
