public import CrashProtocol
public import CrashReport

extension CrashClient {
  /// Returns the overrides of guard modes in programs whose name contains `name`, or in all programs.
  public func guardModes(name: String? = nil) throws(ClientError) -> [GuardService] {
    try call(Methods.GuardModes.self, OptionalName(name: name)).services
  }

  /// Overrides the guard mode of running and future processes.
  ///
  /// - Parameters:
  ///   - mode: `off`, `observe` or `absorb`; `program` removes the override.
  ///   - kind: The kind of fault, such as `index`. Nil selects all kinds.
  ///   - name: A part of the names of known programs. Nil selects all known programs.
  ///   - isImplicit: Whether to set the mode of implicit protections instead of guards at call sites.
  /// - Returns: The names of the programs, and the number of their processes that have applied the change.
  /// - Throws: `ClientError`.
  @discardableResult
  public func setGuards(
    mode: IncidentReport.Mode, kind: String? = nil, name: String? = nil, isImplicit: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(Methods.GuardSet.self, .init(kind: kind, mode: mode.rawValue, implicit: isImplicit, name: name))
  }
}
