extension CrashReport {
  /// The field that a bad access was probably about, as the debug information and the registers make one guess.
  public struct AccessedField: Codable, Sendable, Equatable {
    /// As the source calls it; `outer.inner` for one within another.
    public var name: String
    /// The type that it belongs to.
    public var type: String
    /// The variable whose pointer it was, or `variable.field` of one that leads to it.
    public var variable: String
    /// Its distance from the begin of the type, or that of the byte in it.
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
