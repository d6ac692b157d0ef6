import CrashReport
import CrashRing

/// Describes an incident that a guard recorded, by its call site and its reason.
///
/// An incident is a fault that the process survived, and a guard is an operation with a fallback value.
struct GuardIncident: Sendable {
  var incident: Incident

  init(_ incident: Incident) { self.incident = incident }

  /// The name of the incident's kind for programs; this name never changes.
  ///
  /// If a later version of the library recorded a kind that crashd does not define, the name is the number of the kind.
  var kind: IncidentReport.Kind { .init(Self.name(of: incident.kind)) }

  static func name(of kind: UInt32) -> String { GuardKinds.name(of: Int(kind)) ?? "\(kind)" }

  /// The call site, such as `Module/File.swift:12`; nil if the shield did not record the call site.
  var site: String? {
    parts.map { "\($0.file):\(incident.word)" }
  }

  /// The reason of the incident, including types and numbers, but without a full stop.
  var reason: String { parts?.reason ?? incident.subject }

  /// Splits the incident's subject, which consists of the file, a colon, a space, and the reason.
  private var parts: (file: String, reason: String)? {
    // Do not split the subject of an incident without a line number, because such a subject consists only of the
    // reason, which can contain a colon.
    guard incident.word != 0, let end = incident.subject.firstRange(of: ": ") else { return nil }
    return (String(incident.subject[..<end.lowerBound]), String(incident.subject[end.upperBound...]))
  }

  /// Removes the innermost frames, which are frames of the guard's code.
  func own(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    // For an incident without a call site, remove the frames of an executor check, because a hook of the Swift runtime
    // recorded the incident.
    if incident.word == 0, kind == .isolation { return Self.behindCheck(frames) }
    return Array(frames.drop(while: Self.isOurs))
  }

  /// Removes the frames of an executor check: the frames of the hook, and of the runtime that called it.
  ///
  /// The result begins with the program's call that led to the check.
  static func behindCheck(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    guard let asked = frames.firstIndex(where: { $0.function == question || $0.mangled == question }) else {
      return Array(frames.drop(while: isOurs))
    }
    return Array(frames[(asked + 1)...].drop(while: isCheck))
  }

  /// The runtime function that every executor check calls.
  private static let question = "swift_task_isCurrentExecutorWithFlags"

  /// Whether the frame belongs to an executor check.
  ///
  /// An executor check is `assumeIsolated`, `preconditionIsolated` or `assertIsolated`, even if it is inlined into the
  /// program. swiftc also inserts an executor check at the start of some functions.
  private static func isCheck(_ frame: CrashReport.Frame) -> Bool {
    let types = ["$sScM", "$sScAsE", "$sScfsE", "$ss11GlobalActorPsE"]
    let names = ["14assumeIsolated", "20preconditionIsolated", "14assertIsolated"]
    return frame.mangled.hasPrefix("$ss22_checkExpectedExecutor")
      || types.contains { type in names.contains { frame.mangled.hasPrefix(type + $0) } }
  }

  private static func isOurs(_ frame: CrashReport.Frame) -> Bool {
    // Match the functions of these modules, and the functions in these modules' extensions of types of other modules.
    // In a mangled name, `E` follows the module of the extension.
    let modules = ["11CrashShield", "17CrashShieldGuards", "21CrashShieldFoundation", "19CrashShieldImplicit"]
    return modules.contains { frame.mangled.hasPrefix("$s" + $0) || frame.mangled.contains($0 + "E") }
      || frame.function == "cs_quarantine_here"
  }
}
