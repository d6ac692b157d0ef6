/// An operator's guard modes for a program.
public struct GuardService: Codable, Sendable, Equatable {
  /// The user of the processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// `off`, `observe` or `absorb` for guards at call sites, by kind; for other kinds the program decides.
  public var modes: [String: String]
  /// The same for implicit protections, which the call site does not ask for.
  public var implicitModes: [String: String]
  /// Attached processes.
  public var processes: Int
  /// Processes that have applied them.
  public var applied: Int
  /// The refusal of one of the others.
  public var refusal: String?

  /// Makes one from its parts.
  public init(
    uid: Int, name: String, program: String, modes: [String: String], implicitModes: [String: String] = [:],
    processes: Int, applied: Int, refusal: String? = nil
  ) {
    (self.uid, self.name, self.program) = (uid, name, program)
    (self.modes, self.implicitModes) = (modes, implicitModes)
    (self.processes, self.applied, self.refusal) = (processes, applied, refusal)
  }
}
