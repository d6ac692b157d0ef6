import CShimRing
@testable import CrashRing
import Testing

@Suite("Images of a ring")
struct ImageTests {
  @Test("a ring's image is read with its build id and path")
  func image() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/server", buildID: [0x0a, 0xff], flags: 1)
    ring.addImage(1, start: 0x7fff_0000, path: "", buildID: [], flags: 2)
    #expect(
      try ring.contents().images == [
        RingContents.Image(
          index: 0, bias: 0x40_0000, start: 0x40_0000, end: 0x40_1000, buildID: "0aff", path: "/srv/server",
          isExecutable: true),
        RingContents.Image(
          index: 1, bias: 0x7fff_0000, start: 0x7fff_0000, end: 0x7fff_1000, buildID: "", path: "[vdso]",
          isExecutable: false),
      ])
  }

  @Test("an invalid image of a ring is skipped and counted")
  func senseless() throws {
    let ring = TestRing()
    for index in 0..<4 { ring.addImage(index, start: 0x1000 * UInt64(index + 1)) }
    ring.set(\cs_ring_image.end, at: TestRing.image(0), 0x1000)
    ring.set(\cs_ring_image.bias, at: TestRing.image(1), 0x2001)
    ring.set(\cs_ring_image.build_id_bytes, at: TestRing.image(2), 33)
    let contents = try ring.contents()
    #expect(contents.images.map(\.index) == [3])
    #expect(contents.losses == ["images": 3])
  }

  @Test("an image count above the table's size is treated as that size")
  func hostileCount() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.image_count, UInt32.max)
    let contents = try ring.contents()
    #expect(contents.images.isEmpty)
    #expect(contents.losses == ["images": 512])
  }

  @Test("a frame that names a wrong image gets the image that contains its address")
  func hint() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x1000)
    ring.addImage(1, start: 0x2000)
    // The program unloaded image 0, and then loaded image 2 at the same address.
    ring.addImage(2, start: 0x1000)
    ring.addRecord(
      slot: 0,
      frames: [
        cs_ring_frame(0x1800, image: 0), cs_ring_frame(0x1800, image: 1), cs_ring_frame(0x2800, image: 512),
        cs_ring_frame(0x9000, image: 0), cs_ring_frame(0), cs_ring_frame(.max, flags: 1),
      ])
    #expect(try ring.contents().records.first?.frames.map(\.image) == [0, 2, 1, nil, nil, nil])
  }

  @Test(
    "a return address at the end of an image belongs to the image, because its call is inside; a pc does not")
  func returnAddress() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x1000)
    ring.addRecord(slot: 0, frames: [cs_ring_frame(0x2000), cs_ring_frame(0x2000, flags: 1)])
    #expect(try ring.contents().records.first?.frames.map(\.image) == [0, nil])
  }
}
