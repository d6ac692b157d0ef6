extension CrashReport {
  /// The field that a bad access probably went to, derived from the debug information and the registers.
  public struct AccessedField: Codable, Sendable, Equatable {
    /// The name of the field in the source, or `outer.inner` for a nested field.
    public var name: String
    /// The type that contains it.
    public var type: String
    /// The variable that held the pointer, or `variable.field` if a field of a variable held it.
    public var variable: String
    /// The offset from the start of the type to the field, or to the accessed byte in the field.
    public var offset: Int

    /// Creates a field from its parts.
    public init(name: String, type: String, variable: String, offset: Int) {
      self.name = name
      self.type = type
      self.variable = variable
      self.offset = offset
    }
  }
}
