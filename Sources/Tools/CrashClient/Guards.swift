/// What an operator said of the guards of a program.
public struct GuardService: Codable, Sendable, Equatable {
  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// `off`, `observe` or `absorb` of guards at call sites, by kind; of other kinds the program decides.
  public var modes: [String: String]
  /// The same of implicit protections, which the call site does not ask for.
  public var implicitModes: [String: String]
  /// Attached processes.
  public var processes: Int
  /// Those that have applied it.
  public var obeying: Int
  /// What one of the others said.
  public var refusal: String?

  /// Makes one from its parts.
  public init(
    uid: Int, name: String, program: String, modes: [String: String], implicitModes: [String: String] = [:],
    processes: Int, obeying: Int, refusal: String? = nil
  ) {
    (self.uid, self.name, self.program) = (uid, name, program)
    (self.modes, self.implicitModes) = (modes, implicitModes)
    (self.processes, self.obeying, self.refusal) = (processes, obeying, refusal)
  }
}

extension CrashClient {
  /// What an operator said of the guards of programs whose name contains this, of all without one.
  public func guardModes(name: String? = nil) throws(ClientError) -> [GuardService] {
    struct Query: Encodable { var name: String? }
    struct Parameters: Decodable { var services: [GuardService] }
    return try call("GuardModes", Query(name: name), returning: Parameters.self).services
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
    mode: String, kind: String? = nil, name: String? = nil, isImplicit: Bool = false
  ) throws(ClientError) -> DanglingChange {
    struct Query: Encodable {
      var mode: String
      var kind: String?
      var name: String?
      var implicit: Bool
    }
    let query = Query(mode: mode, kind: kind, name: name, implicit: isImplicit)
    return try call("GuardSet", query, returning: DanglingChange.self)
  }
}
