import CrashProtocol
import CrashReport
import CrashStore

/// Implements the interface methods for guard modes.
extension CrashdInterface {
  static func bindGuards(in table: inout HandlerTable) {
    table.bind(Methods.GuardModes.self, CrashdInterface.guardModes)
    table.bind(Methods.GuardSet.self, CrashdInterface.guardSet)
  }

  func guardModes(
    _ parameters: OptionalName, _ client: Client
  ) async throws(ProtocolError) -> Methods.GuardModes.Reply {
    Methods.GuardModes.Reply(
      services: await policy.guardServices(await policy.find(parameters.name, client.visibility)))
  }

  /// The string that a client sends in order to remove an override.
  ///
  /// After the override is removed, the program's own mode applies again.
  private static let programsMode = "program"

  func guardSet(
    _ parameters: Methods.GuardSet.Parameters, _ client: Client
  ) async throws(ProtocolError) -> DanglingChange {
    let kind = parameters.kind
    if let kind, GuardKinds.number(of: kind) == nil { throw .invalidParameter("kind") }
    let mode = GuardMode(rawValue: parameters.mode)
    guard mode != nil || parameters.mode == Self.programsMode else { throw .invalidParameter("mode") }
    let isImplicit = parameters.implicit ?? false
    let keys = try await services(parameters.name, client.visibility)
    let which = "\(isImplicit ? "implicit guards" : "guards") of \(kind.map { "the kind \($0)" } ?? "all kinds")"
    let text =
      mode.map { "the operator sets \(which) to \($0.rawValue)" } ?? "the operator leaves \(which) to the program"
    await policy.setGuards(
      keys, kind.map { [$0] } ?? Array(GuardKinds.names), to: mode, isImplicit: isImplicit, text, by: client.peer.uid)
    return await outcome(of: keys, about: .guards)
  }
}
