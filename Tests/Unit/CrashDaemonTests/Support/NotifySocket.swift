import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

/// systemd's end of a notification socket.
struct NotifySocket {
  let path: String
  private let socket: Descriptor

  init(in directory: TestDirectory) throws {
    path = "\(directory.path)/notify"
    let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    socket = Descriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
    // Fits: checked above.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    // A sockaddr_un may be read as the sockaddr that it begins with.
    let result = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  /// A message with its descriptors; nil: there is none.
  func message() throws -> AttachSocket.Message? { try AttachSocket(descriptor: socket).receive() }

  /// The text of one that has come; nil: there is none.
  func receive() throws -> String? { try message().map { String(decoding: $0.bytes, as: UTF8.self) } }

  /// Waits for a message, five minutes at most.
  func next() async throws -> String {
    let socket = socket
    return try await onThread {
      var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      // poll reads and writes the one entry.
      guard unsafe poll(&entry, 1, 300_000) == 1, let message = try AttachSocket(descriptor: socket).receive() else {
        throw SystemError("wait for a message to systemd", code: ETIMEDOUT)
      }
      return String(decoding: message.bytes, as: UTF8.self)
    }
  }

  /// Reads and drops what comes until somebody says that he stops.
  func readOn() throws {
    let socket = socket
    try Thread.start(named: "systemd") {
      while true {
        var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        // poll reads and writes the one entry.
        guard unsafe poll(&entry, 1, 300_000) == 1, let message = try? AttachSocket(descriptor: socket).receive(),
          !String(decoding: message.bytes, as: UTF8.self).hasPrefix("STOPPING=1")
        else { return }
      }
    }
  }
}
