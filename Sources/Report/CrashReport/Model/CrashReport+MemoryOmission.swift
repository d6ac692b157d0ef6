extension CrashReport {
  /// Why the report does not contain the program's memory.
  ///
  /// The omitted memory consists of the stacks and the memory to which registers point.
  public struct MemoryOmission: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program excluded its memory, with `CRASHSHIELD_MEMORY=none` or in its configuration.
    public static let program = MemoryOmission(rawValue: "program")
    /// An operator excluded the memory, by `privacy.no-memory` in crashd's settings.
    public static let `operator` = MemoryOmission(rawValue: "operator")
    /// The report comes from a record line (a crash record that the process printed as text), which had no room for the
    /// memory.
    public static let recordLine = MemoryOmission(rawValue: "record-line")
  }
}

extension TextRenderer {
  /// Returns a readable line; empty if the report contains memory.
  static func memoryText(_ report: CrashReport) -> String {
    guard let omission = report.memoryOmitted else { return "" }
    switch omission {
    case .recordLine: return "not stored: it had no room in the record line"
    case .operator: return "not stored: disabled for this program in crashd's settings"
    default: return "not stored: disabled by the program"
    }
  }
}
