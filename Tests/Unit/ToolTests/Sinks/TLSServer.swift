import Foundation
import Testing

/// Runs `Tests/Kit/Support/tls_server.py` with a new certificate for 127.0.0.1, which this machine does not trust.
final class TLSServer {
  let port: Int
  let proxyPort: Int
  /// The path of the server's certificate, for the setting `ca-file`.
  let certificate: String
  /// The path of its key.
  let key: String
  private let process = Process()
  private let directory: URL
  private let requests: URL

  /// If `requiresCertificate` is true, clients need a certificate, and the server accepts only its own certificate.
  init(requiresCertificate: Bool = false) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    certificate = directory.appendingPathComponent("certificate.pem").path
    key = directory.appendingPathComponent("key.pem").path
    try Self.run([
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=sink", "-addext",
      "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ])
    let python = ProcessInfo.processInfo.environment["TEST_PYTHON"] ?? "python3"
    let script = URL(filePath: #filePath).appending(path: "../../../../Kit/Support/tls_server.py").standardizedFileURL
      .path
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    requests = directory.appendingPathComponent("requests")
    process.arguments =
      [python, script, certificate, key, requests.path] + (requiresCertificate ? [certificate] : [])
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let ports = String(decoding: Self.line(of: output.fileHandleForReading), as: UTF8.self).split(separator: " ")
    port = try #require(ports.first.flatMap { Int($0) })
    proxyPort = try #require(ports.last.flatMap { Int($0) })
  }

  /// Kills the server.
  ///
  /// Returns the requests that the server has received, one per line.
  ///
  /// The server writes the requests to a file, because a pipe could stay open in a child process of another test.
  /// SIGKILL is needed, because the server has inherited the signal mask of a thread of Dispatch, which blocks SIGTERM.
  func stop() throws -> [String] {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let said = try Data(contentsOf: requests)
    try FileManager.default.removeItem(at: directory)
    return String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private static func run(_ command: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(command)")
  }

  private static func line(of file: FileHandle) -> Data {
    var line = Data()
    while let byte = try? file.read(upToCount: 1), let first = byte.first, first != UInt8(ascii: "\n") {
      line.append(first)
    }
    return line
  }
}
