import CrashReport
import CrashRing

/// Describes an incident of a guard by its call site and its reason.
struct GuardIncident: Sendable {
  var incident: Incident

  init(_ incident: Incident) { self.incident = incident }

  /// A stable name for programs; for a kind of a later version, its number.
  var kind: IncidentReport.Kind { .init(Self.name(of: incident.kind)) }

  static func name(of kind: UInt32) -> String { GuardKinds.name(of: Int(kind)) ?? "\(kind)" }

  /// The call site, such as `Module/File.swift:12`; nil if the shield recorded none.
  var site: String? {
    parts.map { "\($0.file):\(incident.word)" }
  }

  /// The reason, with types and numbers, and without a full stop.
  var reason: String { parts?.reason ?? incident.subject }

  /// Splits the subject, which has the file, a colon, a space, and the reason.
  private var parts: (file: String, reason: String)? {
    // Without a line number there is no file. The reason alone may contain a colon.
    guard incident.word != 0, let end = incident.subject.firstRange(of: ": ") else { return nil }
    return (String(incident.subject[..<end.lowerBound]), String(incident.subject[end.upperBound...]))
  }

  /// The frames without the innermost frames of the guard.
  func own(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    // Without a call site, the incident comes from a hook of the runtime.
    if incident.word == 0, kind == .isolation { return Self.behindCheck(frames) }
    return Array(frames.drop(while: Self.isOurs))
  }

  /// The frames from the program's call that led to an executor check.
  ///
  /// The frames of the hook and of the runtime before it are removed.
  static func behindCheck(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    guard let asked = frames.firstIndex(where: { $0.function == question || $0.mangled == question }) else {
      return Array(frames.drop(while: isOurs))
    }
    return Array(frames[(asked + 1)...].drop(while: isCheck))
  }

  /// The runtime function that every executor check calls.
  private static let question = "swift_task_isCurrentExecutorWithFlags"

  /// Whether the frame belongs to a check: `assumeIsolated`, `preconditionIsolated` or `assertIsolated`, even if
  /// inlined into the program, or the check at the start of a function.
  private static func isCheck(_ frame: CrashReport.Frame) -> Bool {
    let types = ["$sScM", "$sScAsE", "$sScfsE", "$ss11GlobalActorPsE"]
    let names = ["14assumeIsolated", "20preconditionIsolated", "14assertIsolated"]
    return frame.mangled.hasPrefix("$ss22_checkExpectedExecutor")
      || types.contains { type in names.contains { frame.mangled.hasPrefix(type + $0) } }
  }

  private static func isOurs(_ frame: CrashReport.Frame) -> Bool {
    // Match functions of these modules, and of their extensions of other modules' types. `E` ends the name of the
    // extending module.
    let modules = ["11CrashShield", "17CrashShieldGuards", "21CrashShieldFoundation", "19CrashShieldImplicit"]
    return modules.contains { frame.mangled.hasPrefix("$s" + $0) || frame.mangled.contains($0 + "E") }
      || frame.function == "cs_quarantine_here"
  }
}
