import CShimRing
import Testing

@testable import CrashDaemon

@Suite("The hello, the first message of a process to crashd")
struct AttachHelloTests {
  @Test("a valid hello is decoded with its images")
  func good() throws {
    let hello = try AttachHello(message: TestProcess.hello(images: [3, 511]), descriptorCount: 3, isTruncated: false)
    #expect(hello.images == [3, 511])
  }

  @Test("the hello's layout equals that of the C header")
  func layout() {
    #expect(MemoryLayout<cs_attach_hello>.offset(of: \.image_count) == AttachHello.imagesOffset - 4)
    #expect(
      MemoryLayout<cs_attach_hello>.size == AttachHello.imagesOffset + 2 * Int(CS_ATTACH_IMAGE_LIMIT))
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    var what: String
    var message: [UInt8]
    var descriptors = 1
    var isTruncated = false
    var status: cs_attach_status = .malformed
    var testDescription: String { what }
  }

  static let bad: [Bad] = [
    Bad(what: "empty", message: []),
    Bad(what: "short", message: Array(TestProcess.hello().dropLast())),
    Bad(what: "long", message: TestProcess.hello() + [0]),
    Bad(what: "cut by the kernel", message: TestProcess.hello(), isTruncated: true, status: .limit),
    Bad(what: "wrong magic", message: TestProcess.hello(magic: 1)),
    Bad(what: "zeros", message: [UInt8](repeating: 0, count: 536)),
    Bad(what: "ones", message: [UInt8](repeating: 0xff, count: 536)),
    Bad(what: "later version", message: TestProcess.hello(version: CS_ATTACH_VERSION + 1), status: .version),
    Bad(what: "later ring", message: TestProcess.hello(ringVersion: CS_RING_VERSION + 1), status: .version),
    Bad(what: "small ring", message: TestProcess.hello(ringBytes: 4096)),
    Bad(what: "too many images", message: TestProcess.hello(imageCount: .max), descriptors: 1),
    Bad(what: "fewer descriptors than images", message: TestProcess.hello(images: [1, 2]), descriptors: 2),
    Bad(what: "more descriptors than images", message: TestProcess.hello(), descriptors: 2),
    Bad(what: "no descriptor", message: TestProcess.hello(), descriptors: 0),
    Bad(what: "image beyond the table", message: TestProcess.hello(images: [512]), descriptors: 2),
  ]

  @Test("a hello with a ring of version 5 is accepted, with the size of that version only")
  func earlierRing() throws {
    let earlier = { TestProcess.hello(ringVersion: CS_RING_EARLIER_VERSION, ringBytes: $0) }
    let message = earlier(UInt64(CS_RING_EARLIER_BYTES))
    #expect(try AttachHello(message: message, descriptorCount: 1, isTruncated: false).images.isEmpty)
    let refusal = #expect(throws: AttachRefusal.self) {
      try AttachHello(
        message: earlier(UInt64(MemoryLayout<cs_ring>.size)), descriptorCount: 1, isTruncated: false)
    }
    #expect(refusal?.status == .malformed)
  }

  @Test("an invalid hello is refused with its status and a reason", arguments: bad)
  func refused(_ bad: Bad) {
    let refusal = #expect(throws: AttachRefusal.self) {
      try AttachHello(message: bad.message, descriptorCount: bad.descriptors, isTruncated: bad.isTruncated)
    }
    #expect(refusal?.status == bad.status)
    #expect(refusal?.reason.isEmpty == false)
  }

  @Test("the refusal of a ring with a later version names the versions that crashd reads")
  func laterRing() {
    let refusal = #expect(throws: AttachRefusal.self) {
      try AttachHello(message: TestProcess.hello(ringVersion: 9), descriptorCount: 1, isTruncated: false)
    }
    #expect(refusal?.reason == "the ring has version 9, crashd supports 5 and 6: use the same release")
  }

  @Test("the text of a long attach reply is cut between characters")
  func reply() {
    let text = String(repeating: "é", count: 200)
    let bytes = AttachReply.bytes(status: .limit, text: text)
    #expect(bytes.count == MemoryLayout<cs_attach_reply>.size)
    #expect(String(decoding: bytes[24..<256], as: UTF8.self) == text.prefix(116))
  }
}
