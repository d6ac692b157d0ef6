public import CrashProtocol

extension CrashClient {
  /// Returns the health of builds, in the order in which they were first seen.
  ///
  /// - Parameters:
  ///   - name: A part of the program's name. Nil selects all programs.
  ///   - since: Counts only hours from this time on, as RFC 3339. Nil counts everything since a build was first seen.
  ///   - build: The new build of a comparison: its build id, the beginning of this id, or its release. Nil selects the
  ///     newest build if `against` is given, and no comparison otherwise.
  ///   - against: The old build of the comparison. Nil selects the build that was first seen before `build`.
  /// - Returns: The builds, and the comparison.
  /// - Throws: `ClientError`.
  public func health(
    name: String? = nil, since: String? = nil, build: String? = nil, against: String? = nil
  ) throws(ClientError) -> HealthReport {
    try call(Methods.Health.self, .init(name: name, since: since, build: build, against: against))
  }
}
