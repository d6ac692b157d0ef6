import CShimRing
@testable import CrashRing
import Testing

@Suite("Replaced handlers of a ring")
struct HandlerTests {
  @Test("a ring's replaced handlers are read with their image")
  func found() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/server", flags: 1)
    ring.addHandler(0, signal: 11, .CS_RING_HANDLER_REPLACED, address: 0x40_0010)
    ring.addHandler(2, signal: 6, .CS_RING_HANDLER_IGNORED)
    ring.addHandler(5, signal: 8, .CS_RING_HANDLER_DEFAULT)
    ring.addHandler(6, signal: 5, .CS_RING_HANDLER_REPLACED, address: 0x1)
    ring.addHandler(7, signal: 4, .CS_RING_HANDLER_OURS)
    #expect(
      try ring.contents().replacedHandlers == [
        ReplacedHandler(signal: 11, kind: .handler, address: 0x40_0010, image: 0),
        ReplacedHandler(signal: 6, kind: .ignored), ReplacedHandler(signal: 8, kind: .byDefault),
        ReplacedHandler(signal: 5, kind: .handler, address: 1),
      ])
  }

  @Test("invalid entries of replaced handlers are skipped", arguments: [Int32.min, -1, 0, 65, .max])
  func hostile(signal: Int32) throws {
    let ring = TestRing()
    ring.addHandler(0, signal: signal, .CS_RING_HANDLER_REPLACED, address: .max)
    ring.addHandler(1, signal: 11, try #require(cs_ring_handler_state(rawValue: 0xffff_ffff)), address: .max)
    #expect(try ring.contents().replacedHandlers.isEmpty)
  }
}
