public import CrashProtocol
public import CrashReport

extension CrashClient {
  /// What an operator said of the guards of programs whose name contains this, of all without one.
  public func guardModes(name: String? = nil) throws(ClientError) -> [GuardService] {
    try call(Methods.GuardModes.self, OptionalName(name: name)).services
  }

  /// Sets what guards do about a fault, in running and coming processes, stronger than what they say themselves.
  ///
  /// - Parameters:
  ///   - mode: `off`, `observe` or `absorb`; `program`: the program decides again.
  ///   - kind: Such as `index`; all kinds without one.
  ///   - name: In programs that crashd knows by now and whose name contains this; in all of them without one.
  ///   - isImplicit: Of implicit protections, in place of guards at call sites.
  /// - Returns: The programs, and what their processes made of it.
  /// - Throws: What kept crashd from it.
  @discardableResult
  public func setGuards(
    mode: IncidentReport.Mode, kind: String? = nil, name: String? = nil, isImplicit: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(Methods.GuardSet.self, .init(kind: kind, mode: mode.rawValue, implicit: isImplicit, name: name))
  }
}
