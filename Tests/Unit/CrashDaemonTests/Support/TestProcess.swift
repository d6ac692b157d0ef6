import CLinux
import CShimRing
import Glibc
import LinuxSystem

@testable import CrashDaemon

/// A simulated process.
///
/// It follows the attach protocol, or violates it.
final class TestProcess: Sendable {
  let socket: TestSocket

  init(path: String, as user: TestUser? = nil) async throws {
    socket = try await onThread { try TestSocket(path: path, type: Int32(SOCK_SEQPACKET.rawValue), as: user) }
  }

  init(_ socket: TestSocket) { self.socket = socket }

  /// Returns a valid hello.
  ///
  /// The parameters can make the hello invalid.
  static func hello(
    magic: UInt64 = attachMagic, version: UInt32 = CS_ATTACH_VERSION, ringVersion: UInt32 = CS_RING_VERSION,
    ringBytes: UInt64 = UInt64(MemoryLayout<cs_ring>.size), images: [UInt16] = [], imageCount: UInt32? = nil
  ) -> [UInt8] {
    var hello = cs_attach_hello()
    hello.magic = magic
    hello.version = version
    hello.ring_version = ringVersion
    hello.ring_bytes = ringBytes
    hello.pid = getpid()
    hello.image_count = imageCount ?? UInt32(images.count)
    var bytes = unsafe withUnsafeBytes(of: hello) { unsafe Array($0) }
    for (index, image) in images.enumerated() {
      bytes[AttachHello.imagesOffset + 2 * index] = UInt8(image & 0xff)
      bytes[AttachHello.imagesOffset + 2 * index + 1] = UInt8(image >> 8)
    }
    return bytes
  }

  /// Sends one message with descriptors.
  func send(_ bytes: [UInt8], _ descriptors: [Descriptor] = []) throws {
    let numbers = descriptors.map(\.number)
    // Invariant: both arrays have as many elements as the passed counts.
    let code = unsafe cd_socket_send(socket.descriptor.number, bytes, bytes.count, numbers, numbers.count)
    try SystemError.check(code, "send a message")
  }

  /// Receives the daemon's reply, which has a status and a message.
  ///
  /// Returns nil if the daemon closed the connection without a reply.
  func reply() async throws -> (status: cs_attach_status, text: String)? {
    let socket = socket
    let bytes = try await onThread { try socket.receive() }
    guard bytes.count == MemoryLayout<cs_attach_reply>.size else { return nil }
    // Invariant: the message has at least as many bytes as the structure, in which every bit pattern is valid.
    let reply = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_attach_reply.self) }
    let start = 24  // the offset of `text`, which cs_ring.c asserts
    let text = String(decoding: bytes[start..<start + Int(reply.text_bytes)], as: UTF8.self)
    guard let status = cs_attach_status(rawValue: reply.status) else { return nil }
    return (status, text)
  }

  /// Whether the daemon has sent a message.
  var hasAnswer: Bool {
    var entry = pollfd(fd: socket.descriptor.number, events: Int16(POLLIN), revents: 0)
    // poll() reads and writes the one entry.
    return unsafe poll(&entry, 1, 0) == 1
  }

  /// Sends a hello with a ring and waits for the reply.
  func attach(_ memory: Descriptor) async throws -> cs_attach_status? {
    try send(Self.hello(), [memory])
    return try await reply()?.status
  }

  func wake() throws { try send([UInt8(CS_ATTACH_CRASHED)]) }

  func announceIncidents() throws { try send([UInt8(CS_ATTACH_INCIDENTS)]) }

  /// Closes the connection, as the kernel does when a process ends.
  func hangUp() { shutdown(socket.descriptor.number, Int32(SHUT_RDWR)) }
}
