extension CrashReport {
  /// The field that a bad access probably went to: a guess by the debug information and the registers.
  public struct AccessedField: Codable, Sendable, Equatable {
    /// Its name in the source; `outer.inner` for a nested one.
    public var name: String
    /// The type that contains it.
    public var type: String
    /// The variable that held the pointer, or `variable.field` of one that leads to it.
    public var variable: String
    /// The offset from the start of the type to it, or to the accessed byte in it.
    public var offset: Int

    /// Makes a field from its parts.
    public init(name: String, type: String, variable: String, offset: Int) {
      self.name = name
      self.type = type
      self.variable = variable
      self.offset = offset
    }
  }
}
