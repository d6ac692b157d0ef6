import CrashReport
import CrashRing

/// Describes an incident of a guard: its call site, and the reason.
struct GuardIncident: Sendable {
  var incident: Incident

  init(_ incident: Incident) { self.incident = incident }

  /// A stable name for programs; a number for a kind that this version does not know.
  var kind: IncidentReport.Kind { .init(Self.name(of: incident.kind)) }

  static func name(of kind: UInt32) -> String { GuardKinds.name(of: Int(kind)) ?? "\(kind)" }

  /// `Module/File.swift:12`; nil where the shield recorded none.
  var site: String? {
    parts.map { "\($0.file):\(incident.word)" }
  }

  /// Types and numbers, without a full stop.
  var reason: String { parts?.reason ?? incident.subject }

  /// The subject is the file, a colon, a blank, and the reason.
  private var parts: (file: String, reason: String)? {
    // Without a line there is no file, and a reason may contain a colon.
    guard incident.word != 0, let end = incident.subject.firstRange(of: ": ") else { return nil }
    return (String(incident.subject[..<end.lowerBound]), String(incident.subject[end.upperBound...]))
  }

  /// The program's frames, without those of the guard itself.
  func own(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    // Without a call site it comes from a hook of the runtime.
    if incident.word == 0, kind == .isolation { return Self.behindCheck(frames) }
    return Array(frames.drop(while: Self.isOurs))
  }

  /// The frames from the program's call on that led to an executor check; the hook's and the runtime's come before it.
  static func behindCheck(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    guard let asked = frames.firstIndex(where: { $0.function == question || $0.mangled == question }) else {
      return Array(frames.drop(while: isOurs))
    }
    return Array(frames[(asked + 1)...].drop(while: isCheck))
  }

  /// The function of the runtime that every executor check calls.
  private static let question = "swift_task_isCurrentExecutorWithFlags"

  /// `assumeIsolated`, `preconditionIsolated` and `assertIsolated`, also where they are inlined into the program, and
  /// the check at the start of a function.
  private static func isCheck(_ frame: CrashReport.Frame) -> Bool {
    let types = ["$sScM", "$sScAsE", "$sScfsE", "$ss11GlobalActorPsE"]
    let names = ["14assumeIsolated", "20preconditionIsolated", "14assertIsolated"]
    return frame.mangled.hasPrefix("$ss22_checkExpectedExecutor")
      || types.contains { type in names.contains { frame.mangled.hasPrefix(type + $0) } }
  }

  private static func isOurs(_ frame: CrashReport.Frame) -> Bool {
    // A function of the module, or of its extensions of other modules' types (`E` ends the name of the extending
    // module).
    let modules = ["11CrashShield", "17CrashShieldGuards", "21CrashShieldFoundation", "19CrashShieldImplicit"]
    return modules.contains { frame.mangled.hasPrefix("$s" + $0) || frame.mangled.contains($0 + "E") }
      || frame.function == "cs_quarantine_here"
  }
}
