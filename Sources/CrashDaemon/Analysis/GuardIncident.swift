import CrashReport
import CrashRing

/// What a guard met, in words: where it stands, and why.
struct GuardIncident: Sendable {
  var incident: Incident

  init(_ incident: Incident) { self.incident = incident }

  /// A stable word for programs; of a kind that this version does not know the number.
  var kind: String { Self.name(of: incident.kind) }

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
  static func own(_ frames: [CrashReport.Frame]) -> [CrashReport.Frame] {
    Array(frames.drop(while: isOurs))
  }

  private static func isOurs(_ frame: CrashReport.Frame) -> Bool {
    // A function of the module, or of its extensions of other modules' types (`E` ends the name of the extending module).
    frame.mangled.hasPrefix("$s11CrashShield") || frame.mangled.hasPrefix("$s21CrashShieldFoundation")
      || frame.mangled.hasPrefix("$s19CrashShieldImplicit") || frame.mangled.contains("19CrashShieldImplicitE")
      || frame.mangled.contains("11CrashShieldE") || frame.mangled.contains("21CrashShieldFoundationE")
      || frame.function == "cs_quarantine_here"
  }
}
