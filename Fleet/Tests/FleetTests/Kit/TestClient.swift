import Foundation

/// A blocking HTTP client that can also violate the protocol.
///
/// Each client has one connection.
final class TestClient {
  private let descriptor: Int32

  struct Problem: Error { var text: String }

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    // Invariant: connect reads the structure, whose size is given, only during the call.
    let status = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Problem(text: "connect: \(errno)") }
  }

  deinit { close(descriptor) }

  /// Sends bytes.
  ///
  /// Returns false if the server has closed the connection.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      // Invariant: send reads as many bytes as the slice has.
      let sent = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if sent <= 0 { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  /// The response of the server, and the time from the end of the request to the response.
  struct Answer: Equatable {
    var status: Int
    var head: String
    var body: String

    /// The code of a refusal.
    var code: String? {
      body.firstRange(of: "\"code\":\"").map { String(body[$0.upperBound...].prefix { $0 != "\"" }) }
    }
  }

  /// Reads one response that has a Content-Length.
  func answer() throws -> Answer {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let head = Data(bytes).firstRange(of: Data("\r\n\r\n".utf8)) {
        let text = String(decoding: bytes[..<head.lowerBound], as: UTF8.self)
        let lines = text.lowercased().split(whereSeparator: \.isNewline)
        let length = lines.first { $0.hasPrefix("content-length:") }.flatMap {
          Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces))
        }
        if let length, bytes.count >= head.upperBound + length {
          let body = String(decoding: bytes[head.upperBound..<head.upperBound + length], as: UTF8.self)
          return Answer(status: Int(text.split(separator: " ")[1]) ?? 0, head: text, body: body)
        }
      }
      // Invariant: recv writes at most as many bytes as the array has.
      let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { throw Problem(text: "the connection ended after \(bytes.count) bytes") }
      bytes += chunk.prefix(count)
    }
  }

  func request(
    _ method: String = "POST", _ path: String = "/v1/reports", token: String?, body: [UInt8] = [],
    headers: [String] = []
  ) throws -> Answer {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: fleet", "Content-Length: \(body.count)"]
      + (token.map { ["Authorization: Bearer \($0)"] } ?? []) + headers
    send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    return try answer()
  }
}
