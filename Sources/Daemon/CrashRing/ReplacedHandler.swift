/// A crash signal that somebody took from the shield after its start.
public struct ReplacedHandler: Sendable, Equatable {
  /// What stands in the place of the shield's handler.
  public enum Kind: Sendable, Equatable {
    /// A handler that is not the shield's.
    case handler
    /// The default action.
    case byDefault
    /// The signal is ignored.
    case ignored
  }

  /// Such as 11.
  public var signal: Int32
  /// What stands there.
  public var kind: Kind
  /// Where the other handler begins; 0 for the other kinds.
  public var address: UInt64
  /// The table index of the image that it lies in.
  public var image: Int?

  /// Makes one from its parts.
  public init(signal: Int32, kind: Kind, address: UInt64 = 0, image: Int? = nil) {
    self.signal = signal
    self.kind = kind
    self.address = address
    self.image = image
  }
}
