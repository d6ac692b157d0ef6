public import CrashProtocol

extension CrashClient {
  /// Groups of use-after-free incidents, the one that was seen last first.
  ///
  /// - Parameters:
  ///   - name: A part of the program's name.
  ///   - since: Only incidents that were seen last at this time or later, RFC 3339 in UTC.
  ///   - offset: So many are left out before the first: those of the previous pages.
  ///   - limit: At most so many; 100 without it.
  /// - Returns: The groups.
  /// - Throws: What kept crashd from answering; `methodNotFound` from an older crashd.
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

  /// What was decided about them, the latest first.
  public func danglingEvents(name: String? = nil, limit: Int? = nil) throws(ClientError) -> [DanglingEventReport] {
    try call(Methods.DanglingEvents.self, .init(name: name, limit: limit)).events
  }

  /// Protects a class.
  ///
  /// - Parameters:
  ///   - className: Its full or its mangled name.
  ///   - name: In programs whose name contains this; in all without one.
  ///   - limit: How many dead objects to keep.
  ///   - mode: `absorb`, `zero` or `diagnose`.
  /// - Returns: The programs, and what their processes made of it.
  /// - Throws: What kept crashd from it.
  @discardableResult
  public func protect(
    class className: String, name: String? = nil, limit: Int? = nil, mode: String? = nil
  ) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingProtect.self, .init(class: className, limit: limit, mode: mode, name: name))
  }

  /// Ends the protection of a class.
  /// - Returns: The programs, and what their processes made of it.
  @discardableResult
  public func release(class className: String, name: String? = nil) throws(ClientError) -> DanglingChange {
    try call(Methods.DanglingRelease.self, .init(class: className, name: name))
  }

  /// Changes rules of programs.
  /// - Returns: The programs, and what their processes made of it.
  @discardableResult
  public func setRules(_ rules: DanglingRules, name: String) throws(ClientError) -> DanglingChange {
    try call(Methods.PolicySet.self, Joined(.init(name: name), rules))
  }
}
