/// One function at an address, from the debug information.
public struct SourceFrame: Sendable, Equatable {
  /// The linkage name; empty if unknown.
  public var mangled: String
  /// The link address of the function's first byte; nil for inlined functions.
  public var symbolAddress: UInt64?
  /// The absolute path at compile time; nil if unknown.
  public var file: String?
  /// The line, starting with 1; nil if unknown.
  public var line: Int?
  /// The column, starting with 1; nil if unknown.
  public var column: Int?
  /// Whether the function was inlined into the next frame of the chain.
  public var isInline: Bool
  /// Whether the address itself has no line.
  ///
  /// File, line and column are then the nearest ones of the same function.
  public var isLineApproximate = false
  /// The location of the function's declaration; nil if unknown.
  public var declaration: Declaration?

  /// The line on which a function begins.
  public struct Declaration: Sendable, Equatable {
    /// The absolute path at compile time.
    public var file: String
    /// The line, starting with 1.
    public var line: Int

    /// Creates a declaration from its parts.
    public init(file: String, line: Int) {
      self.file = file
      self.line = line
    }
  }

  /// Creates a frame from its parts.
  public init(
    mangled: String, symbolAddress: UInt64? = nil, file: String? = nil, line: Int? = nil, column: Int? = nil,
    isInline: Bool = false
  ) {
    self.mangled = mangled
    self.symbolAddress = symbolAddress
    self.file = file
    self.line = line
    self.column = column
    self.isInline = isInline
  }
}
