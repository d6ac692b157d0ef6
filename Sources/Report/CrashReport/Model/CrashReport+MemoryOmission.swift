extension CrashReport {
  /// Who excluded the program's memory from the report: stacks and the words around registers.
  public struct MemoryOmission: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes an omission from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program: `CRASHSHIELD_MEMORY=none`, or its configuration.
    public static let program = MemoryOmission(rawValue: "program")
    /// An operator, by `privacy.no-memory` in crashd's settings.
    public static let `operator` = MemoryOmission(rawValue: "operator")
  }
}

extension TextRenderer {
  /// One line for people; empty where memory was stored.
  static func memoryText(_ report: CrashReport) -> String {
    guard let omission = report.memoryOmitted else { return "" }
    let who = omission == .operator ? "for this program in crashd's settings" : "by the program"
    return "not taken: switched off \(who)"
  }
}
