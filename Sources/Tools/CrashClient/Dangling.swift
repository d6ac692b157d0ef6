public import CrashProtocol

extension CrashClient {
  /// Groups of use-after-free incidents, the one seen last first.
  ///
  /// - Parameters:
  ///   - name: A part of the program's name.
  ///   - since: Only incidents last seen at or after this time, RFC 3339 in UTC.
  ///   - offset: The number of groups in the previous pages.
  ///   - limit: The maximum number of groups; 100 by default.
  /// - Returns: The groups.
  /// - Throws: `ClientError`; `methodNotFound` from an older crashd.
  public func danglingGroups(
    name: String? = nil, since: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) throws(ClientError) -> [DanglingGroup] {
    try call(Methods.DanglingGroups.self, .init(limit: limit, offset: offset, name: name, since: since)).groups
  }

  /// The policies of programs whose name contains this, of all without one.
  public func danglingPolicies(name: String? = nil) throws(ClientError) -> [DanglingPolicyReport] {
    try call(Methods.DanglingPolicies.self, OptionalName(name: name)).services
  }

  /// The estimates of their classes.
  public func danglingClasses(name: String? = nil) throws(ClientError) -> [DanglingClass] {
    try call(Methods.DanglingClasses.self, OptionalName(name: name)).classes
  }

  /// The decisions about them, the latest first.
  public func danglingEvents(name: String? = nil, limit: Int? = nil) throws(ClientError) -> [DanglingEventReport] {
    try call(Methods.DanglingEvents.self, .init(name: name, limit: limit)).events
  }

  /// Protects a class.
  ///
  /// - Parameters:
  ///   - className: Its full or its mangled name.
  ///   - name: In programs whose name contains this; in all without one.
  ///   - limit: The maximum number of its objects in quarantine.
  ///   - mode: `absorb`, `zero` or `diagnose`.
  ///   - isForced: Also where attached processes have no such class.
  /// - Returns: The programs, and the results in their processes.
  /// - Throws: `noSuchClass` where attached processes have no such class, unless `isForced`; another `ClientError`.
  @discardableResult
  public func protect(
    class className: String, name: String? = nil, limit: Int? = nil, mode: String? = nil, isForced: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(
      Methods.DanglingProtect.self,
      .init(class: className, limit: limit, mode: mode, name: name, force: isForced ? true : nil))
  }

  /// Ends the protection of a class.
  /// - Returns: The programs, and the results in their processes.
  @discardableResult
  public func release(
    class className: String, name: String? = nil, isForced: Bool = false
  ) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingRelease.self, .init(class: className, name: name, force: isForced ? true : nil))
  }

  /// Removes the override of a class: the program and the statistics decide again.
  /// - Returns: The programs, and the results in their processes.
  @discardableResult
  public func reset(class className: String, name: String? = nil) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingReset.self, .init(class: className, name: name))
  }

  /// Changes rules of programs.
  /// - Returns: The programs, and the results in their processes.
  @discardableResult
  public func setRules(_ rules: DanglingRules, name: String) throws(ClientError) -> DanglingChange {
    try call(Methods.PolicySet.self, Joined(.init(name: name), rules))
  }
}
