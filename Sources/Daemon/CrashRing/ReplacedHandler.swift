internal import CShimRing

/// A replaced handler, that is, a crash signal whose handler the program changed after the shield started.
public struct ReplacedHandler: Sendable, Equatable {
  /// The current disposition of the signal.
  public enum Kind: Sendable, Equatable {
    /// A handler that is not the shield's.
    case handler
    /// The default action.
    case byDefault
    /// The signal is ignored.
    case ignored
  }

  /// The signal's number, such as 11.
  public var signal: Int32
  /// The current disposition.
  public var kind: Kind
  /// The address of the other handler; 0 if `kind` is not `handler`.
  public var address: UInt64 = 0
  /// The table index of the image that contains the handler.
  public var image: Int?
}

extension RingReader {
  /// Returns the crash signals with replaced handlers.
  ///
  /// Invalid entries are skipped.
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
