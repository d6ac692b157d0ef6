/// One function at an address, from the debug information.
public struct SourceFrame: Sendable, Equatable {
  /// The linkage name; empty when unknown.
  public var mangled: String
  /// Link address of the function's first byte; nil for inlined ones.
  public var symbolAddress: UInt64?
  /// Absolute path as compiled; nil when unknown.
  public var file: String?
  /// From 1; nil when unknown.
  public var line: Int?
  /// From 1; nil when unknown.
  public var column: Int?
  /// Whether it was inlined into the next frame of the chain.
  public var isInline: Bool
  /// Whether the address itself has no line: file, line and column are the nearest ones of the same function.
  public var isLineApproximate = false
  /// The location of the function's declaration; nil when unknown.
  public var declaration: Declaration?

  /// The line on which a function begins.
  public struct Declaration: Sendable, Equatable {
    /// Absolute path as compiled.
    public var file: String
    /// From 1.
    public var line: Int

    /// Makes a declaration from its parts.
    public init(file: String, line: Int) {
      self.file = file
      self.line = line
    }
  }

  /// Makes a frame from its parts.
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
