import CrashReport
import CrashStore

/// The methods about what guards do.
extension CrashdInterface {
  func guardModes(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> GuardModesReply {
    let parameters = try VarlinkParameters(call, known: ["name"])
    let name = try parameters.string("name")
    return GuardModesReply(services: await policy.guardViews(await policy.find(name, visibility)))
  }

  /// In place of a mode: the program decides again.
  private static let programsMode = "program"

  func guardSet(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> DanglingServicesReply {
    let parameters = try VarlinkParameters(call, known: ["kind", "mode", "name", "implicit"])
    let kind = try parameters.string("kind")
    if let kind, GuardKinds.number(of: kind) == nil { throw .invalidParameter("kind") }
    let word = try parameters.required("mode", parameters.string("mode"))
    let mode = GuardMode(rawValue: word)
    guard mode != nil || word == Self.programsMode else { throw .invalidParameter("mode") }
    let isImplicit = try parameters.bool("implicit") ?? false
    let keys = try await services(parameters.string("name"), visibility)
    let which = "\(isImplicit ? "implicit guards" : "guards") of \(kind.map { "the kind \($0)" } ?? "all kinds")"
    let text =
      mode.map { "the operator sets \(which) to \($0.rawValue)" } ?? "the operator leaves \(which) to the program"
    await policy.setGuards(
      keys, kind.map { [$0] } ?? Array(GuardKinds.names), to: mode, isImplicit: isImplicit, text)
    return await outcome(of: keys, about: .guards)
  }
}

struct GuardModesReply: Encodable, Sendable {
  var services: [GuardServiceView]
}
