// Annotations with a meaning of their own, and the rest: the tags.
extension CrashReport {
  /// The annotations that crashd copies into fields of the report.
  public enum WellKnown: String, CaseIterable, Sendable {
    /// The version of the program, such as `shop@2.4.1`.
    case release
    /// Where it runs, such as `production`.
    case environment
    /// For whom it worked, such as a customer's number.
    case user
  }

  /// The value of a well-known annotation; reports of an older crashd have only the annotation.
  public subscript(_ key: WellKnown) -> String? {
    switch key {
    case .release: release ?? annotations[key.rawValue]
    case .environment: environment ?? annotations[key.rawValue]
    case .user: user ?? annotations[key.rawValue]
    }
  }

  /// Every annotation of the program by its key: what the filter for tags searches.
  public var tags: [String: String] {
    var tags = annotations
    for key in WellKnown.allCases { tags[key.rawValue] = self[key] }
    return tags
  }

  /// For people: `release shop@2.4.1 · environment production · user 17`; empty where the program says nothing.
  var releaseText: String {
    WellKnown.allCases.compactMap { key in self[key].map { "\(key.rawValue) \($0)" } }.joined(separator: " · ")
  }

  /// The annotations that no field of the report shows.
  package var otherAnnotations: [String: String] { annotations.filter { WellKnown(rawValue: $0.key) == nil } }

  /// Copies the well-known annotations into their fields; they stay, because no key of a report goes.
  mutating func liftAnnotations() {
    release = annotations[WellKnown.release.rawValue]
    environment = annotations[WellKnown.environment.rawValue]
    user = annotations[WellKnown.user.rawValue]
  }
}
