internal import CShimRing

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
  public var address: UInt64 = 0
  /// The table index of the image that it lies in.
  public var image: Int?
}

extension RingReader {
  /// The crash signals that are not the shield's any more; what makes no sense is left out.
  func replacedHandlers(_ header: PrivateCopy<cs_ring_header>, images: ImageTable) -> [ReplacedHandler] {
    header.elements(\.handlers, of: cs_ring_handler.self, count: CS_RING_HANDLER_LIMIT).compactMap { entry in
      let (signal, address) = (entry[\.signal], entry[\.address])
      guard (1..<65).contains(signal) else { return nil }
      switch cs_ring_handler_state(rawValue: entry[\.state]) {
      case .CS_RING_HANDLER_REPLACED:
        let image = images.index(of: address, hint: UInt16(CS_RING_NO_IMAGE))
        return ReplacedHandler(signal: signal, kind: .handler, address: address, image: image)
      case .CS_RING_HANDLER_DEFAULT: return ReplacedHandler(signal: signal, kind: .byDefault)
      case .CS_RING_HANDLER_IGNORED: return ReplacedHandler(signal: signal, kind: .ignored)
      default: return nil
      }
    }
  }
}
