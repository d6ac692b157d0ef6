internal import CShimRing

/// A crash signal whose handler the program replaced after the library in the process had started.
public struct ReplacedHandler: Sendable, Equatable {
  /// The kind of action that the signal now has.
  public enum Kind: Sendable, Equatable {
    /// The signal now runs a handler that does not belong to the library.
    case handler
    /// The signal now has its default action.
    case byDefault
    /// The signal is ignored.
    case ignored
  }

  /// The number of the signal, such as 11.
  public var signal: Int32
  /// The kind of action that the signal now has.
  public var kind: Kind
  /// The address of the program's handler; 0 if `kind` is not `handler`.
  public var address: UInt64 = 0
  /// The index of the image that contains the handler, in the ring's image table.
  public var image: Int?
}

extension RingReader {
  /// Returns the crash signals whose handlers were replaced.
  ///
  /// Invalid entries of the ring are skipped.
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
