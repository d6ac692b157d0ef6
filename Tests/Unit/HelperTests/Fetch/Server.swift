import Foundation
import Synchronization

/// An HTTP server without an HTTP library.
///
/// It listens on its own port, reads a request, and then does what its `Manner` says.
final class Server: Sendable {
  /// What the server does after it has read a request.
  enum Manner: Sendable {
    /// Sends these bytes and closes the connection.
    case says([UInt8])
    /// Sends these bytes, and then keeps the connection open until the client closes it.
    case saysAndWaits([UInt8])
    /// Sends the first array of bytes, and then repeats the second array forever.
    case repeats([UInt8], [UInt8])
  }

  let port: UInt16
  private let listener: Int32
  private let seen = Mutex<[String]>([])

  /// Starts a server.
  ///
  /// It runs until `stop` closes the listener.
  init(_ manner: Manner) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    port = try Self.bindToLoopback(listener)
    // After listen(), the port accepts connections, so the URL is usable as soon as the caller has it.
    guard listen(listener, 8) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    Thread.detachNewThread { [self] in serve(manner) }
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// The request line and the headers of each request.
  var requests: [String] { seen.withLock { $0 } }

  /// Ends the thread that serves requests.
  ///
  /// This thread closes its descriptors.
  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Finds a port that is free at the time of the call.
  static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    return try bindToLoopback(descriptor)
  }

  private static func bindToLoopback(_ descriptor: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Invariant: bind() and getsockname() access one sockaddr_in, whose size is `length`.
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, length) == 0 ? unsafe getsockname(descriptor, $0, &length) : -1
      }
    }
    guard descriptor >= 0, code == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return UInt16(bigEndian: address.sin_port)
  }

  private func serve(_ manner: Manner) {
    defer { close(listener) }
    while true {
      let connection = accept(listener, nil, nil)
      if connection < 0 && (errno == EINTR || errno == ECONNABORTED) { continue }
      guard connection >= 0 else { return }
      // shutdown() below ends the connection even if a child process of another test has inherited the descriptor;
      // close() alone would not.
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      defer {
        shutdown(connection, Int32(SHUT_RDWR))
        close(connection)
      }
      guard let request = Self.read(connection) else { continue }
      seen.withLock { $0.append(request) }
      switch manner {
      case .says(let bytes): _ = Self.send(bytes, connection)
      case .saysAndWaits(let bytes):
        if Self.send(bytes, connection) { while Self.receive(connection) != nil {} }
      case .repeats(let first, let others):
        if Self.send(first, connection) { while Self.send(others, connection) {} }
      }
    }
  }

  /// Reads a request up to the empty line after its headers.
  private static func read(_ connection: Int32) -> String? {
    var text = ""
    while !text.hasSuffix("\r\n\r\n") {
      guard let bytes = receive(connection), text.utf8.count < 16_384 else { return nil }
      text += String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  private static func receive(_ connection: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // recv() writes at most as many bytes as the array has.
    let count = unsafe recv(connection, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  private static func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Invariant: send() reads at most as many bytes as the slice has.
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
