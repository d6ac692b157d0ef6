internal import CShimRing

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
