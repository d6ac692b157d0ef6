extension CrashReport {
  /// Who excluded the program's memory from the report.
  ///
  /// Excluded are the stacks, and the memory that registers point to.
  public struct MemoryOmission: RawRepresentable, Codable, Sendable, Hashable {
    /// The text in JSON.
    public var rawValue: String

    /// Creates a value from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program excluded memory, by `CRASHSHIELD_MEMORY=none` or by its configuration.
    public static let program = MemoryOmission(rawValue: "program")
    /// An operator excluded memory, by `privacy.no-memory` in crashd's settings.
    public static let `operator` = MemoryOmission(rawValue: "operator")
  }
}

extension TextRenderer {
  /// Returns one line for people, or empty if memory was stored.
  static func memoryText(_ report: CrashReport) -> String {
    guard let omission = report.memoryOmitted else { return "" }
    let who = omission == .operator ? "for this program in crashd's settings" : "by the program"
    return "not stored: disabled \(who)"
  }
}
