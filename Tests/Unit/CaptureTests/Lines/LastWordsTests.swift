import CShimRing
import CTestKit
import CrashRing
import FoundationEssentials
import Glibc
import TestKit
import Testing

@Suite("The last words", .serialized)
struct LastWordsTests {
  @Test("the line has the signal, the message, the in-app frames as file and offset, the thread and the report")
  func whole() {
    #expect(
      Lines.words(Self.ring())
        == "crashshield: server crashed by SIGILL: Fatal error: boom in server+0x10 < server+0x1f < libcart.so+0x2f;"
        + " thread 4712 worker; report 000102030405060708090a0b0c0d0e0f\n")
  }

  @Test("a fault has its address, and not a message that an earlier warning of the runtime left")
  func fault() {
    let ring = Self.ring()
    ring.set(\cs_ring_record.signal, at: TestRing.record(0), SIGSEGV)
    #expect(Lines.words(ring).hasPrefix("crashshield: server crashed by SIGSEGV at address 0x1234 in server+0x10 <"))
  }

  @Test("a signal of another process has its sender")
  func sent() {
    let ring = Self.ring()
    ring.set(\cs_ring_record.code, at: TestRing.record(0), 0)
    ring.set(\cs_ring_record.sender_pid, at: TestRing.record(0), 99)
    #expect(Lines.words(ring).hasPrefix("crashshield: server crashed by SIGILL sent by pid 99 in server+0x10"))
  }

  @Test("a process whose user must not read its data says neither the message nor an address of the process")
  func bare() {
    let line = Lines.words(Self.ring(), isBare: true)
    #expect(line.hasPrefix("crashshield: server crashed by SIGILL in server+0x10 <"))
  }

  @Test("a stack without in-app frames names its innermost frame")
  func foreign() {
    let ring = Self.ring()
    for index in 0..<2 {
      ring.set(\cs_ring_image.flags, at: TestRing.image(index), UInt32(0))
      ring.setBytes(\cs_ring_image.path, at: TestRing.image(index), Array("/usr/lib/libz.so\0".utf8))
    }
    #expect(Lines.words(ring).contains(": Fatal error: boom in libz.so+0x10; thread"))
  }

  @Test("the line stays one line of at most 1,024 bytes of valid UTF-8, whatever the message has")
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
    "faults that a handler of the program repairs leave no line; the crash after them leaves one",
    .enabled(if: cs_test_can_run()))
  func repaired() throws {
    try withTemporaryDirectory { directory in
      // The path is valid during the call.
      #expect(unsafe directory.withCString { unsafe cs_test_run_repaired_with_words($0) } == SIGSEGV)
      let lines = try Self.text(directory + "/words").split(separator: "\n")
      #expect(lines.count == 1 && lines[0].contains("SIGSEGV at address 0x38"))
    }
  }

  static func text(_ path: String) throws -> String {
    let file = unsafe fopen(path, "re")
    defer { if let file = unsafe file { unsafe fclose(file) } }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    // The buffer has the size that is passed.
    let size = unsafe fread(&bytes, 1, bytes.count, try #require(unsafe file))
    return String(decoding: bytes.prefix(size), as: UTF8.self)
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

@Suite("A line of the handler", .serialized)
struct OutputTests {
  @Test("a pipe without a reader gets nothing and raises no signal")
  func noReader() throws {
    let (reader, writer) = try Self.pipe()
    close(reader)
    defer { close(writer) }
    #expect(!Self.write(to: writer))
  }

  @Test("a full pipe gets nothing, and the writer does not wait")
  func full() throws {
    let (reader, writer) = try Self.pipe()
    defer { [reader, writer].forEach { close($0) } }
    let size = fcntl(writer, F_GETPIPE_SZ)
    let page = [UInt8](repeating: 0, count: Int(size))
    // The buffer has the size that is passed.
    #expect(unsafe Glibc.write(writer, page, page.count) == page.count)
    #expect(!Self.write(to: writer))
    #expect(Self.write(to: writer) == false)
  }

  @Test("a pipe, a file and a socket get the whole line; a full device and a directory get nothing")
  func kinds() throws {
    let directory = try TestDirectory()
    let (reader, writer) = try Self.pipe()
    var pair: [Int32] = [0, 0]
    // socketpair writes two descriptors.
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let path = directory.path + "/file"
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    let device = unsafe open("/dev/full", O_WRONLY)
    let folder = unsafe open(directory.path, O_RDONLY)
    defer { ([reader, writer, file, device, folder] + pair).forEach { close($0) } }
    #expect(Self.write(to: writer) && Self.read(from: reader) == Self.line)
    #expect(Self.write(to: pair[0]) && Self.read(from: pair[1]) == Self.line)
    #expect(Self.write(to: file) && (try LastWordsTests.text(path)) == Self.line)
    #expect(!Self.write(to: device) && !Self.write(to: folder))
  }

  private static let line = String(repeating: "x", count: 4_095) + "\n"

  private static func pipe() throws -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    // pipe writes two descriptors.
    try #require(unsafe Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  private static func write(to descriptor: Int32) -> Bool {
    let bytes = Array(line.utf8)
    // The array is valid during the call, and is passed with its size.
    return unsafe cs_test_output_line(descriptor, bytes, bytes.count)
  }

  private static func read(from descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    // The buffer has the size that is passed.
    let size = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, size)), as: UTF8.self)
  }
}
