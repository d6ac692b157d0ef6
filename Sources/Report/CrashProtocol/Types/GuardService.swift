/// The guard modes that an operator has set for a program.
public struct GuardService: Codable, Sendable, Equatable {
  /// The user ID of the program's processes.
  public var uid: Int
  /// The name of the program.
  public var name: String
  /// The path of the program's executable.
  public var program: String
  /// The mode (`off`, `observe` or `absorb`) of guards at call sites, for each kind whose mode the operator has set.
  ///
  /// For a kind whose mode the operator has not set, the program decides the mode.
  public var modes: [String: String]
  /// The mode of implicit protections, for each kind whose mode the operator has set.
  ///
  /// Implicit protections cover call sites without a guard in the source code.
  public var implicitModes: [String: String]
  /// The number of attached processes.
  public var processes: Int
  /// The number of processes that have applied the modes.
  public var applied: Int
  /// The reason why a process rejected the modes.
  public var refusal: String?

  /// Creates a value from its parts.
  public init(
    uid: Int, name: String, program: String, modes: [String: String], implicitModes: [String: String] = [:],
    processes: Int, applied: Int, refusal: String? = nil
  ) {
    (self.uid, self.name, self.program) = (uid, name, program)
    (self.modes, self.implicitModes) = (modes, implicitModes)
    (self.processes, self.applied, self.refusal) = (processes, applied, refusal)
  }
}
