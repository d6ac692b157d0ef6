import CShimRing
import CTestKit
import CrashRing
import FoundationEssentials
import Glibc
import TestKit
import Testing

@Suite("The last words", .serialized)
struct LastWordsTests {
  @Test("last words have the signal, the message, the in-app frames as file and offset, the thread and the report's id")
  func whole() {
    #expect(
      Lines.words(Self.ring())
        == "crashshield: server crashed by SIGILL: Fatal error: boom in server+0x10 < server+0x1f < libcart.so+0x2f;"
        + " thread 4712 worker; report 000102030405060708090a0b0c0d0e0f\n")
  }

  @Test("the last words of a fault have its address, but not the message of an earlier runtime warning")
  func fault() {
    let ring = Self.ring()
    ring.set(\cs_ring_record.signal, at: TestRing.record(0), SIGSEGV)
    #expect(Lines.words(ring).hasPrefix("crashshield: server crashed by SIGSEGV at address 0x1234 in server+0x10 <"))
  }

  @Test("the last words of a signal from another process name its sender")
  func sent() {
    let ring = Self.ring()
    ring.set(\cs_ring_record.code, at: TestRing.record(0), 0)
    ring.set(\cs_ring_record.sender_pid, at: TestRing.record(0), 99)
    #expect(Lines.words(ring).hasPrefix("crashshield: server crashed by SIGILL sent by pid 99 in server+0x10"))
  }

  @Test("the last words of a non-dumpable process contain neither its message nor its addresses")
  func bare() {
    let line = Lines.words(Self.ring(), isBare: true)
    #expect(line.hasPrefix("crashshield: server crashed by SIGILL in server+0x10 <"))
  }

  @Test("the last words name the innermost frame if the stack has no in-app frame")
  func foreign() {
    let ring = Self.ring()
    for index in 0..<2 {
      ring.set(\cs_ring_image.flags, at: TestRing.image(index), UInt32(0))
      ring.setBytes(\cs_ring_image.path, at: TestRing.image(index), Array("/usr/lib/libz.so\0".utf8))
    }
    #expect(Lines.words(ring).contains(": Fatal error: boom in libz.so+0x10; thread"))
  }

  @Test("for any message, last words are one line of at most 1,024 bytes of valid UTF-8")
  func hostile() {
    let messages = [
      String(repeating: "a\"b\\\n\r\t\u{1b}[31m", count: 200), String(repeating: "é", count: 1_000),
      String(repeating: "x", count: 479) + "漢", String(repeating: "👩‍👩‍👧", count: 100), "\n\n", "",
    ]
    for message in messages {
      let ring = Self.ring(message: message, frames: 200)
      let line = Lines.words(ring)
      #expect(line.utf8.count <= 1_024 && line.hasSuffix("; report 000102030405060708090a0b0c0d0e0f\n"))
      #expect(!line.contains("\u{fffd}") && !line.contains("\"") && !line.contains("\\"))
      #expect(line.dropLast().allSatisfy { !$0.isNewline && $0 != "\t" && $0 != "\u{1b}" })
    }
  }

  @Test(
    "invalid UTF-8, C1 control characters and direction marks become question marks; a cut character is omitted")
  func commands() {
    let cases: [(bytes: [UInt8], shown: String)] = [
      (Array("a\u{9b}31mb\u{85}c".utf8), "a?31mb?c"), (Array("a\u{2028}b\u{2029}c".utf8), "a?b?c"),
      (Array("a\u{202a}b\u{202e}c\u{2066}d\u{2069}e".utf8), "a?b?c?d?e"), (Array("é漢👩 \u{a0}x".utf8), "é漢👩 \u{a0}x"),
      ([0x61, 0x9b, 0x62, 0xff, 0xfe, 0x63], "a?b??c"), ([0x61, 0xc0, 0x80, 0x62], "a?b"),
      ([0x61, 0xed, 0xa0, 0x80, 0x62], "a?b"), ([0x61, 0xf4, 0x90, 0x80, 0x80, 0x62], "a?b"),
      ([0x61, 0xe6, 0xbc, 0x62], "a?b"), ([0x61, 0xe6, 0xbc], "a"),
    ]
    for (bytes, shown) in cases {
      let ring = Self.ring(message: String(repeating: "x", count: bytes.count))
      ring.put(bytes, at: TestRing.record(0) + fieldOffset(\cs_ring_record.message))
      #expect(Lines.words(ring).contains("SIGILL: \(shown) in server+0x10"), "\(bytes)")
    }
  }

  @Test("a frame that does not fit into the line is omitted completely")
  func wholeFrames() throws {
    for size in 80..<200 {
      let ring = Self.ring(message: String(repeating: "m", count: 480))
      let name = "/srv/" + String(repeating: "n", count: size)
      ring.setBytes(\cs_ring_image.path, at: TestRing.image(0), Array((name + "\0").utf8))
      ring.setBytes(\cs_ring_image.path, at: TestRing.image(1), Array((name + "\0").utf8))
      let frames = try #require(Lines.words(ring).split(separator: ";").first?.split(separator: " in ").last)
      for frame in frames.split(separator: " < ") {
        #expect(["+0x10", "+0x1f", "+0x2f"].contains { frame.hasSuffix($0) }, "\(frame)")
      }
    }
  }

  @Test(
    "a file that replaced stderr after the start gets the last words only if it is open for appending",
    .enabled(if: cs_test_can_run()))
  func replaced() throws {
    for appends in [false, true] {
      try withTemporaryDirectory { directory in
        // Invariant: the path is valid during the call.
        let status = unsafe directory.withCString { unsafe cs_test_run_with_replaced_stderr($0, appends) }
        #expect(status & 0x7f == SIGSEGV)
        let lines = try Self.text(directory + "/replaced").split(separator: "\n")
        #expect(lines.count == (appends ? 1 : 0) && lines.allSatisfy { $0.hasPrefix("crashshield: ") }, "\(lines)")
      }
    }
  }

  @Test(
    "faults that the program's handler repairs write no last words; a later crash writes one line",
    .enabled(if: cs_test_can_run()))
  func repaired() throws {
    try withTemporaryDirectory { directory in
      // Invariant: the path is valid during the call.
      #expect(unsafe directory.withCString { unsafe cs_test_run_repaired_with_words($0) } == SIGSEGV)
      let lines = try Self.text(directory + "/words").split(separator: "\n")
      #expect(lines.count == 1 && lines[0].contains("SIGSEGV at address 0x38"))
    }
  }

  static func text(_ path: String) throws -> String {
    try String(decoding: Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }

  private static func ring(message: String = "Fatal error: boom\n", frames: Int = 4) -> TestRing {
    let ring = TestRing()
    let start: UInt64 = 0x7f00_0000_0000
    ring.addImage(0, start: start, path: "/srv/server", flags: 1)
    ring.addImage(1, start: start + 0x10_0000, path: "/srv/lib/libcart.so")
    ring.addImage(2, start: start + 0x20_0000, path: "/opt/swift/usr/lib/swift/linux/libswiftCore.so")
    let list = [
      cs_ring_frame(start + 0x10, image: 0, flags: 1, trust: 1), cs_ring_frame(start + 0x20_0010, image: 2),
      cs_ring_frame(start + 0x20, image: 0), cs_ring_frame(start + 0x20, image: 0),
      cs_ring_frame(start + 0x10_0030, image: 1),
    ]
    let more = (list.count..<max(list.count, frames)).map { cs_ring_frame(start + 0x100 + UInt64($0), image: 0) }
    ring.addRecord(slot: 0, message: message, frames: list + more)
    return ring
  }
}
