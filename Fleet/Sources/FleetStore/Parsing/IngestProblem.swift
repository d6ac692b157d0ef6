/// The reason why an item or a body is refused: a stable code, and one sentence that says what to do.
public struct IngestProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The codes.
  ///
  /// Clients can rely on them.
  public enum Code: String, Sendable {
    /// The JSON is malformed.
    case malformed = "malformed-json"
    /// The JSON is nested too deeply.
    case tooDeep = "too-deep"
    /// An item is too large.
    case tooLarge = "item-too-large"
    /// The body has too many items.
    case tooMany = "too-many-items"
    /// A required field is missing.
    case missing = "missing-field"
    /// A field has a wrong type or value.
    case invalid = "invalid-field"
    /// The item has none of the known kinds.
    case unknown = "unknown-item"
  }

  /// The code.
  public var code: Code
  /// What is wrong, and where.
  public var description: String

  init(_ code: Code, _ text: String) { (self.code, description) = (code, text) }
}
