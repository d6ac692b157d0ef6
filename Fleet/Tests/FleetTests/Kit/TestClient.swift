import Foundation

/// A blocking HTTP client that can also violate the protocol.
///
/// Each client has one connection.
final class TestClient {
  private let descriptor: Int32

  struct Problem: Error { var text: String }

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    // Use the bytes of a `sockaddr_in`, because modules of NIO declare this type again, and its name is ambiguous here.
    let family = [UInt8(truncatingIfNeeded: AF_INET), UInt8(truncatingIfNeeded: AF_INET >> 8)]
    let number = [UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
    let address = (Int32(1).littleEndian == 1 ? family : family.reversed()) + number + [127, 0, 0, 1]
    // Invariant: connect reads the 16 bytes, whose number is given, only during the call.
    let status = unsafe (address + [UInt8](repeating: 0, count: 8)).withUnsafeBytes {
      unsafe connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
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

  /// The response of the server.
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

  /// Reads an open response until it contains the text, and returns what was read.
  func text(until end: String) throws -> String {
    var text = ""
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while !text.contains(end) {
      // Invariant: recv writes at most as many bytes as the array has.
      let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { throw Problem(text: "the connection ended after '\(text)'") }
      text += String(decoding: chunk.prefix(count), as: UTF8.self)
    }
    return text
  }

  func request(
    _ method: String = "POST", _ path: String = "/v1/reports", host: String = "fleet", token: String?,
    body: [UInt8] = [], headers: [String] = []
  ) throws -> Answer {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Content-Length: \(body.count)"]
      + (token.map { ["Authorization: Bearer \($0)"] } ?? []) + headers
    send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    return try answer()
  }
}
