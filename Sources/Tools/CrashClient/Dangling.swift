public import CrashProtocol

extension CrashClient {
  /// Returns groups of use-after-free incidents, the most recently seen group first.
  ///
  /// - Parameters:
  ///   - name: A part of the program's name.
  ///   - since: Only incidents last seen at or after this time, RFC 3339 in UTC.
  ///   - offset: The number of groups in the previous pages.
  ///   - limit: The maximum number of groups; 100 by default.
  /// - Returns: The groups.
  /// - Throws: `ClientError`; `methodNotFound` from a crashd version without this method.
  public func danglingGroups(
    name: String? = nil, since: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) throws(ClientError) -> [DanglingGroup] {
    try call(Methods.DanglingGroups.self, .init(limit: limit, offset: offset, name: name, since: since)).groups
  }

  /// Returns the protection policies of the programs whose name contains `name`, or of all programs.
  public func danglingPolicies(name: String? = nil) throws(ClientError) -> [DanglingPolicyReport] {
    try call(Methods.DanglingPolicies.self, OptionalName(name: name)).services
  }

  /// Returns the quarantine estimates of the classes of programs whose name contains `name`, or of all programs.
  public func danglingClasses(name: String? = nil) throws(ClientError) -> [DanglingClass] {
    try call(Methods.DanglingClasses.self, OptionalName(name: name)).classes
  }

  /// Returns crashd's decisions about protection in the programs whose name contains `name`, or in all programs, the
  /// latest first.
  public func danglingEvents(name: String? = nil, limit: Int? = nil) throws(ClientError) -> [DanglingEventReport] {
    try call(Methods.DanglingEvents.self, .init(name: name, limit: limit)).events
  }

  /// Protects a class.
  ///
  /// - Parameters:
  ///   - className: The full name of the class, or its mangled name.
  ///   - name: A part of the programs' names. Nil selects all programs.
  ///   - limit: The maximum number of the class's objects in quarantine.
  ///   - mode: `absorb`, `zero` or `diagnose`.
  ///   - isForced: Whether to set the protection even if no attached process has the class.
  /// - Returns: The names of the programs, and the number of their processes that have applied the change.
  /// - Throws: `noSuchClass` if no attached process has the class and `isForced` is false, or another `ClientError`.
  @discardableResult
  public func protect(
    class className: String, name: String? = nil, limit: Int? = nil, mode: String? = nil, isForced: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(
      Methods.DanglingProtect.self,
      .init(class: className, limit: limit, mode: mode, name: name, force: isForced ? true : nil))
  }

  /// Ends the protection of a class.
  /// - Returns: The names of the programs, and the number of their processes that have applied the change.
  @discardableResult
  public func release(
    class className: String, name: String? = nil, isForced: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingRelease.self, .init(class: className, name: name, force: isForced ? true : nil))
  }

  /// Removes the override of a class.
  ///
  /// The program's request and crashd's statistics then decide again whether the class is protected.
  /// - Returns: The names of the programs, and the number of their processes that have applied the change.
  @discardableResult
  public func reset(class className: String, name: String? = nil) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingReset.self, .init(class: className, name: name))
  }

  /// Changes the rules of crashd's automatic protection for the programs whose name contains `name`.
  /// - Returns: The names of the programs, and the number of their processes that have applied the change.
  @discardableResult
  public func setRules(_ rules: DanglingRules, name: String) throws(ClientError) -> DanglingChange {
    try call(Methods.PolicySet.self, Joined(.init(name: name), rules))
  }
}
