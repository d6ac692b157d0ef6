// Annotations with a meaning of their own, and the rest: the tags.
extension CrashReport {
  /// The annotations that crashd lifts into fields of the report.
  public enum WellKnown: String, CaseIterable, Sendable {
    /// The version of the program, such as `shop@2.4.1`.
    case release
    /// Where it runs, such as `production`.
    case environment
    /// For whom it worked, such as a customer's number.
    case user
  }

  /// The value of a well-known annotation; an older crashd left it among the annotations.
  public subscript(_ key: WellKnown) -> String? {
    switch key {
    case .release: release ?? annotations[key.rawValue]
    case .environment: environment ?? annotations[key.rawValue]
    case .user: user ?? annotations[key.rawValue]
    }
  }

  /// Every annotation of the program by its key, with the lifted ones: what the filter for tags searches.
  public var tags: [String: String] {
    var tags = annotations
    for key in WellKnown.allCases { tags[key.rawValue] = self[key] }
    return tags
  }

  /// For people: `release shop@2.4.1 · environment production · user 17`; empty where the program says nothing.
  var releaseText: String {
    WellKnown.allCases.compactMap { key in self[key].map { "\(key.rawValue) \($0)" } }.joined(separator: " · ")
  }

  /// Moves the well-known annotations into their fields.
  mutating func liftAnnotations() {
    release = annotations.removeValue(forKey: WellKnown.release.rawValue)
    environment = annotations.removeValue(forKey: WellKnown.environment.rawValue)
    user = annotations.removeValue(forKey: WellKnown.user.rawValue)
  }
}
