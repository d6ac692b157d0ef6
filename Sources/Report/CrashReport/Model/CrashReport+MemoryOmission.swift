extension CrashReport {
  /// Why the report does not contain the program's memory.
  ///
  /// The omitted memory consists of the stacks and the memory that registers point to.
  public struct MemoryOmission: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program excluded its memory, by `CRASHSHIELD_MEMORY=none` or by its configuration.
    public static let program = MemoryOmission(rawValue: "program")
    /// An operator excluded the memory, by `privacy.no-memory` in crashd's settings.
    public static let `operator` = MemoryOmission(rawValue: "operator")
  }
}

extension TextRenderer {
  /// Returns a readable line; empty if the report contains memory.
  static func memoryText(_ report: CrashReport) -> String {
    guard let omission = report.memoryOmitted else { return "" }
    let who = omission == .operator ? "for this program in crashd's settings" : "by the program"
    return "not stored: disabled \(who)"
  }
}
