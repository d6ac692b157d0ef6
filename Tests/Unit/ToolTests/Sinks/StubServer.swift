import Foundation
import Glibc
import Synchronization

/// An HTTP server on its own port.
///
/// The test provides its responses.
final class StubServer: Sendable {
  struct Request: Sendable {
    /// The request line of a request, such as `POST /api/1/envelope/ HTTP/1.1`.
    var line: String
    /// The header values by lowercase name.
    var headers: [String: String]
    var body: [UInt8]
  }

  struct Answer: Sendable {
    var status = 200
    var headers = ""
    var body = ""
  }

  let port: Int
  private let listener: Int32
  private let log = Mutex<[Request]>([])

  var requests: [Request] { log.withLock { $0 } }

  /// Removes the proxy variables of this process, by which libcurl would reach this machine through a proxy.
  ///
  /// unsetenv() can move memory that other threads read. Therefore call it only for variables that are set.
  private static let ignoreProxies: Void = {
    for name in ["http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
      // Invariant: the name is read only during the calls.
      if unsafe getenv(name) != nil { unsafe unsetenv(name) }
    }
  }()

  /// The server calls `answer` with each request, and with the number of earlier requests.
  ///
  /// If `answer` returns nil, the server closes the connection without a response.
  init(answer: @escaping @Sendable (Request, Int) -> Answer?) throws {
    Self.ignoreProxies
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Invariant: the socket calls allow a sockaddr_in to be accessed as a sockaddr.
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        if unsafe bind(listener, address, size) != 0 || listen(listener, 16) != 0 { return Int32(-1) }
        return unsafe getsockname(listener, address, &size)
      }
    }
    guard listener >= 0, result == 0 else { throw CocoaError(.fileWriteUnknown) }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in
      while true {
        // accept() fails after `stop` has shut the listener down.
        let connection = accept(listener, nil, nil)
        if connection < 0 && errno == EINTR { continue }
        guard connection >= 0 else { break }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        Thread.detachNewThread { self.serve(connection, answer) }
      }
      close(listener)
    }
  }

  /// Stops the server.
  ///
  /// Precondition: the caller calls this function only once.
  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ connection: Int32, _ answer: (Request, Int) -> Answer?) {
    defer {
      // close() alone would not end the connection if a child process of another test has a copy of the descriptor.
      shutdown(connection, Int32(SHUT_RDWR))
      close(connection)
    }
    var buffer: [UInt8] = []
    while let request = next(connection, &buffer) {
      let before = log.withLock { requests in
        requests.append(request)
        return requests.count - 1
      }
      guard let answer = answer(request, before) else { return }
      let text =
        "HTTP/1.1 \(answer.status) X\r\nContent-Length: \(answer.body.utf8.count)\r\n\(answer.headers)\r\n\(answer.body)"
      let bytes = Array(text.utf8)
      // The responses are short enough for one call of send(). Invariant: the pointer covers the array, and is used
      // only during the call.
      guard unsafe send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
    }
  }

  private func next(_ connection: Int32, _ buffer: inout [UInt8]) -> Request? {
    while true {
      if let request = Self.take(&buffer) { return request }
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      // Invariant: the pointer covers the array, and is used only during the call.
      let count = unsafe recv(connection, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return nil }
      buffer += chunk.prefix(count)
    }
  }

  private static func take(_ buffer: inout [UInt8]) -> Request? {
    guard let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
    }
    let count = headers["content-length"].flatMap { Int($0) } ?? 0
    guard buffer.count - end.upperBound >= count else { return nil }
    let body = Array(buffer[end.upperBound..<end.upperBound + count])
    buffer.removeSubrange(..<(end.upperBound + count))
    return Request(line: lines[0], headers: headers, body: body)
  }
}
