/// One function at a code address, as the debug information describes it.
public struct SourceFrame: Sendable, Equatable {
  /// The linkage name of the function; empty if it is unknown.
  public var mangled: String
  /// The link address of the function's first byte; nil for an inlined function.
  public var symbolAddress: UInt64?
  /// The absolute path of the source file at compile time; nil if it is unknown.
  public var file: String?
  /// The line number, starting with 1; nil if it is unknown.
  public var line: Int?
  /// The column number, starting with 1; nil if it is unknown.
  public var column: Int?
  /// Whether the function was inlined into the function of the next frame.
  public var isInline: Bool
  /// Whether the debug information has no line for the code address itself.
  ///
  /// In this case, the file, line and column are those of the nearest code of the same function that has a line.
  public var isLineApproximate = false
  /// The position at which the function is declared; nil if it is unknown.
  public var declaration: Declaration?

  /// The source line on which a function begins.
  public struct Declaration: Sendable, Equatable {
    /// The absolute path of the source file at compile time.
    public var file: String
    /// The line number, starting with 1.
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
