import CrashReport
import CrashRing

/// What a guard met, in words: where it stands, and why.
struct GuardIncident: Sendable {
  var incident: Incident

  init(_ incident: Incident) { self.incident = incident }

  /// A stable name for programs; of a kind that this version does not know the number.
  var kind: IncidentReport.Kind { .init(Self.name(of: incident.kind)) }

  static func name(of kind: UInt32) -> String { GuardKinds.name(of: Int(kind)) ?? "\(kind)" }

  /// `Module/File.swift:12`; nil where the shield did not say.
  var site: String? {
    parts.map { "\($0.file):\(incident.word)" }
  }

  /// Types and numbers, without a full stop.
  var reason: String { parts?.reason ?? incident.subject }

  /// The subject is the file, a colon, a blank, and the reason.
  private var parts: (file: String, reason: String)? {
    // Without a line there is no file, and a reason may have a colon of its own.
    guard incident.word != 0, let end = incident.subject.firstRange(of: ": ") else { return nil }
    return (String(incident.subject[..<end.lowerBound]), String(incident.subject[end.upperBound...]))
  }

  /// The frames of the program: those of the guard itself lie before them.
  func own(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    // Without a place of its own it was met by a hook of the runtime's.
    if incident.word == 0, kind == .isolation { return Self.behindCheck(frames) }
    return Array(frames.drop(while: Self.isOurs))
  }

  /// From the program's call on that led to a check of executors: before it lie the hook's frames and the runtime's.
  static func behindCheck(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    guard let asked = frames.firstIndex(where: { $0.function == question || $0.mangled == question }) else {
      return Array(frames.drop(while: isOurs))
    }
    return Array(frames[(asked + 1)...].drop(while: isCheck))
  }

  /// The runtime's function that every check of executors comes to.
  private static let question = "swift_task_isCurrentExecutorWithFlags"

  /// `assumeIsolated`, `preconditionIsolated` and `assertIsolated`, also where they are compiled into the program, and the check
  /// at the begin of a function.
  private static func isCheck(_ frame: CrashReport.Frame) -> Bool {
    let types = ["$sScM", "$sScAsE", "$sScfsE", "$ss11GlobalActorPsE"]
    let names = ["14assumeIsolated", "20preconditionIsolated", "14assertIsolated"]
    return frame.mangled.hasPrefix("$ss22_checkExpectedExecutor")
      || types.contains { type in names.contains { frame.mangled.hasPrefix(type + $0) } }
  }

  private static func isOurs(_ frame: CrashReport.Frame) -> Bool {
    // A function of the module, or of its extensions of other modules' types (`E` ends the name of the extending module).
    let modules = ["11CrashShield", "17CrashShieldGuards", "21CrashShieldFoundation", "19CrashShieldImplicit"]
    return modules.contains { frame.mangled.hasPrefix("$s" + $0) || frame.mangled.contains($0 + "E") }
      || frame.function == "cs_quarantine_here"
  }
}
