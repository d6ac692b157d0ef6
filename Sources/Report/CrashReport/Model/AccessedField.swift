extension CrashReport {
  /// The field that a bad access probably referred to.
  ///
  /// crashd derives the field from the debug information and the registers.
  public struct AccessedField: Codable, Sendable, Equatable {
    /// The name of the field in the source code.
    ///
    /// The name of a nested field has the form `outer.inner`.
    public var name: String
    /// The type that contains the field.
    public var type: String
    /// The variable that contained the pointer, or `variable.field` if a field of a variable contained it.
    public var variable: String
    /// The offset from the start of the type to the field, or, if the access was inside the field, to the accessed
    /// byte.
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
