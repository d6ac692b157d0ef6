// Handles tags, and the well-known annotations, which are also fields of the report.
extension CrashReport {
  /// The annotations that crashd copies into fields of the report.
  public enum WellKnown: String, CaseIterable, Sendable {
    /// The version of the program, such as `shop@2.4.1`.
    case release
    /// The environment in which the program runs, such as `production`.
    case environment
    /// The user for whom the program was working, such as a customer number.
    case user
  }

  /// The value of a well-known annotation.
  ///
  /// In a report of a crashd version without this field, the annotation is read instead.
  public subscript(_ key: WellKnown) -> String? {
    switch key {
    case .release: release ?? annotations[key.rawValue]
    case .environment: environment ?? annotations[key.rawValue]
    case .user: user ?? annotations[key.rawValue]
    }
  }

  /// All annotations of the program, by key; the container and its pod are added under OpenTelemetry's names.
  ///
  /// A filter by tags compares these values.
  public var tags: [String: String] {
    var tags = annotations
    for key in WellKnown.allCases { tags[key.rawValue] = self[key] }
    return tags.merging(container?.tags ?? [:]) { $1 }
  }

  /// The well-known annotations as text, such as `release shop@2.4.1`, `environment production` and `user 17`.
  ///
  /// The value is empty if the program set none of these annotations.
  var releases: [String] { WellKnown.allCases.compactMap { key in self[key].map { "\(key.rawValue) \($0)" } } }

  /// The annotations that are not also fields of the report.
  package var otherAnnotations: [String: String] {
    annotations.filter { entry in
      if WellKnown(rawValue: entry.key) != nil { return false }
      let known = Container.annotations.first { $0.key == entry.key }
      return known.map { container?[keyPath: $0.path] != entry.value } ?? true
    }
  }

  /// Copies the well-known annotations into the corresponding fields.
  ///
  /// The annotations themselves remain, because keys of a report are never removed.
  mutating func liftAnnotations() {
    release = annotations[WellKnown.release.rawValue]
    environment = annotations[WellKnown.environment.rawValue]
    user = annotations[WellKnown.user.rawValue]
  }
}
