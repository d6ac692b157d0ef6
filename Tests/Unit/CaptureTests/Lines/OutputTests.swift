import CTestKit
import Glibc
import TestKit
import Testing

@Suite("A line of the handler", .serialized)
struct OutputTests {
  @Test("the handler writes nothing to a pipe without a reader, and causes no SIGPIPE")
  func noReader() throws {
    let (reader, writer) = try Self.pipe()
    close(reader)
    defer { close(writer) }
    #expect(!Self.write(to: writer))
  }

  @Test("the handler writes nothing to a full pipe, and does not wait")
  func full() throws {
    let (reader, writer) = try Self.pipe()
    defer { [reader, writer].forEach { close($0) } }
    let page = [UInt8](repeating: 0, count: 4_096)
    #expect(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
    // Invariant: the array has `page.count` bytes.
    while unsafe Glibc.write(writer, page, page.count) > 0 {}
    #expect(fcntl(writer, F_SETFL, 0) == 0)
    #expect(!Self.write(to: writer))
  }

  @Test(
    "a full FIFO, and a terminal without space for a line, do not get the line, and the writer does not wait")
  func fullWithoutNowait() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/fifo"
    #expect(unsafe mkfifo(path, 0o600) == 0)
    let fifo = unsafe open(path, O_RDWR)
    let (terminal, program) = try Self.terminal()
    defer { [fifo, terminal, program].forEach { close($0) } }
    // The FIFO and the terminal receive a line while they have room.
    #expect(Self.write(to: fifo) && Self.read(from: fifo) == Self.line)
    #expect(Self.write(to: program, "short\n") && Self.read(from: terminal) == "short\r\n")
    #expect(fcntl(fifo, F_SETFL, O_NONBLOCK) == 0)
    let page = [UInt8](repeating: 0, count: 4_096)
    // The array has the size that is passed.
    while unsafe Glibc.write(fifo, page, page.count) > 0 {}
    #expect(fcntl(fifo, F_SETFL, 0) == 0)
    #expect(!Self.write(to: fifo))
    // The test cannot fill a terminal exactly, because the kernel asynchronously moves data to the reader's buffer.
    // Therefore it writes 1 MiB, which exceeds the space of any terminal: a blocking write would wait for a reader.
    #expect(!Self.write(to: program, String(repeating: "x", count: 1 << 20) + "\n"))
    for descriptor in [fifo, program] { #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0) }
  }

  @Test("the handler writes nothing to a socket with a network peer")
  func network() throws {
    let server = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    let client = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { [server, client].forEach { close($0) } }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    try unsafe withUnsafeMutablePointer(to: &address) { pointer in
      // Invariant: the address is valid in this scope, and the call gets its size.
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(unsafe bind(server, address, size) == 0 && getsockname(server, address, &size) == 0)
        try #require(unsafe connect(client, address, size) == 0)
      }
    }
    #expect(!Self.write(to: client))
    var byte: UInt8 = 0
    // Invariant: the buffer has the size that is passed.
    #expect(unsafe recv(server, &byte, 1, Int32(MSG_DONTWAIT)) == -1)
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
    #expect(Self.write(to: file))
    #expect(try LastWordsTests.text(path) == Self.line)
    #expect(!Self.write(to: device) && !Self.write(to: folder))
  }

  private static let line = String(repeating: "x", count: 4_095) + "\n"

  private static func pipe() throws -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    // pipe writes two descriptors.
    try #require(unsafe Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  /// Opens a pseudo-terminal, and returns its two ends.
  private static func terminal() throws -> (terminal: Int32, program: Int32) {
    var ends: [Int32] = [-1, -1]
    // Invariant: the function stores two descriptors.
    try #require(unsafe cs_test_open_terminal(&ends))
    return (ends[0], ends[1])
  }

  private static func write(to descriptor: Int32, _ line: String = line) -> Bool {
    let bytes = Array(line.utf8)
    // Invariant: the array is valid during the call, which gets its size.
    return unsafe cs_test_output_line(descriptor, bytes, bytes.count)
  }

  private static func read(from descriptor: Int32, count: Int = 8_192) -> String {
    var bytes = [UInt8](repeating: 0, count: count)
    // Invariant: the buffer has `bytes.count` bytes.
    let size = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, size)), as: UTF8.self)
  }
}
