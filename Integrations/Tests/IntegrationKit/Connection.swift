import Glibc

/// A connection to a server on the loopback address.
///
/// All functions block.
public final class Connection: Sendable {
  private let descriptor: Int32

  /// Connects to a port.
  ///
  /// - Throws: `Failure`.
  public init(to port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw Failure("create a socket") }
    let code = unsafe withAddress(of: port) { unsafe connect(descriptor, $0, $1) }
    guard code == 0 else { throw Failure("connect to port \(port)") }
  }

  deinit { close(descriptor) }

  /// A response of HTTP/1.
  public struct Reply: Sendable {
    /// The status, or nil if the server closed the connection before it sent a status.
    public var status: Int?
    /// The headers, with names in lower case.
    public var headers: [String: String] = [:]
    /// The body, including the chunk headers if it is chunked.
    public var body = ""
    /// Whether the server sent the whole body that the headers announce.
    public var isComplete = false
  }

  /// Sends a request and waits for its response.
  ///
  /// - Throws: `Failure`.
  public func get(_ path: String, _ headers: [String: String] = [:]) throws -> Reply {
    try send(path, headers)
    return try reply()
  }

  /// Sends a request.
  ///
  /// - Throws: `Failure`.
  public func send(_ path: String, _ headers: [String: String] = [:]) throws {
    let fields = headers.map { "\($0): \($1)\r\n" }.joined()
    try send(text: "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
  }

  /// Sends the string as it is, for example a part of a request.
  ///
  /// - Throws: `Failure`.
  public func send(text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      // Invariant: the buffer is valid during the call.
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure("send") }
      rest = rest.dropFirst(count)
    }
  }

  /// Waits for the response.
  ///
  /// - Throws: `Failure`.
  public func reply() throws -> Reply {
    var reply = Reply()
    var head = ""
    while !head.hasSuffix("\r\n\r\n") {
      guard let byte = try receive() else { return reply }
      head.unicodeScalars.append(Unicode.Scalar(byte))
    }
    let lines = head.split(separator: "\r\n")
    reply.status = lines.first.flatMap { Int($0.split(separator: " ")[1]) }
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimming(" ") }
      reply.headers[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
    }
    let length = reply.headers["content-length"].flatMap { Int($0) }
    while !reply.isComplete {
      reply.isComplete = length.map { reply.body.utf8.count >= $0 } ?? reply.body.hasSuffix("0\r\n\r\n")
      guard !reply.isComplete, let byte = try receive() else { return reply }
      reply.body.unicodeScalars.append(Unicode.Scalar(byte))
    }
    return reply
  }

  /// Waits until the server closes the connection, and returns the text that it received until then.
  ///
  /// - Throws: `Failure`.
  @discardableResult
  public func waitUntilClosed() throws -> String {
    var text = ""
    while let byte = try receive() { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
  }

  /// Waits until the server has sent this text.
  ///
  /// - Throws: `Failure` if the server closes the connection before it has sent the text.
  public func wait(for text: String) throws {
    var received = ""
    while !received.hasSuffix(text) {
      guard let byte = try receive() else { throw Failure("receive '\(text)'") }
      received.unicodeScalars.append(Unicode.Scalar(byte))
    }
  }

  private func receive() throws -> UInt8? {
    while true {
      var byte: UInt8 = 0
      // Invariant: the buffer is valid during the call.
      let count = unsafe recv(descriptor, &byte, 1, 0)
      if count < 0 && errno == EINTR { continue }
      // A connection reset counts as a close, because the kernel can reset the connection when the server's process
      // ends.
      if count == 0 || (count < 0 && errno == ECONNRESET) { return nil }
      guard count == 1 else { throw Failure("receive") }
      return byte
    }
  }
}

extension Substring {
  fileprivate func trimming(_ character: Character) -> String {
    String(drop { $0 == character }.reversed().drop { $0 == character }.reversed())
  }
}

/// A socket that listens on a port of the loopback address.
public struct ListeningSocket: ~Copyable, Sendable {
  let descriptor: Int32
  /// The port on which the socket listens.
  public let port: UInt16

  /// Listens on a port that the kernel chooses.
  ///
  /// - Throws: `Failure`.
  public init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw Failure("create a socket") }
    let number = descriptor
    guard unsafe withAddress(of: 0, { unsafe bind(number, $0, $1) }) == 0, listen(number, 64) == 0 else {
      throw Failure("listen")
    }
    var address = sockaddr_in()
    var bytes = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Invariant: the structure has room for an IPv4 address.
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(number, $0, &bytes) }
    }
    guard code == 0 else { throw Failure("read the port") }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }

  /// Whether a connection waits that no server has accepted.
  ///
  /// - Throws: `Failure`.
  public borrowing func hasConnection() throws -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Invariant: the pointer is valid during the call. A timeout of 0 makes the call return at once.
    let count = unsafe poll(&entry, 1, 0)
    guard count >= 0 else { throw Failure("poll") }
    return entry.revents & Int16(POLLIN) != 0
  }
}

/// Calls `body` with a loopback address, which is valid only during the call.
private func withAddress<Result>(
  of port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  // Invariant: every socket address begins with the fields of sockaddr.
  return unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
}
