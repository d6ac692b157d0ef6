import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// A notification socket on which a test receives crashd's messages to systemd.
struct NotifySocket {
  let path: String
  private let socket: Descriptor

  init(in directory: TestDirectory) throws {
    path = "\(directory.path)/notify"
    socket = try LinuxSystem.NotifySocket(path: path).descriptor
  }

  /// Receives a message with its descriptors; nil if no message has arrived.
  func message() throws -> AttachSocket.Message? { try AttachSocket(descriptor: socket).receive() }

  /// Receives the text of a message; nil if no message has arrived.
  func receive() throws -> String? { try message().map { String(decoding: $0.bytes, as: UTF8.self) } }

  /// Waits at most five minutes for a message.
  func next() async throws -> String {
    let socket = socket
    return try await onThread {
      var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      // Invariant: poll() reads and writes the one entry.
      guard unsafe poll(&entry, 1, 300_000) == 1, let message = try AttachSocket(descriptor: socket).receive() else {
        throw SystemError("wait for a message to systemd", code: ETIMEDOUT)
      }
      return String(decoding: message.bytes, as: UTF8.self)
    }
  }

  /// Reads and discards messages until one begins with STOPPING=1.
  func readOn() throws {
    let socket = socket
    try Thread.start(named: "systemd") {
      while true {
        var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        // poll() reads and writes the one entry.
        guard unsafe poll(&entry, 1, 300_000) == 1, let message = try? AttachSocket(descriptor: socket).receive(),
          !String(decoding: message.bytes, as: UTF8.self).hasPrefix("STOPPING=1")
        else { return }
      }
    }
  }
}
