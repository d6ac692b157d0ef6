import CrashProtocol
import Foundation
import Glibc
import TestKit
import Testing

@testable import crash_forward

private let right: Int32 = 42

/// Tests HTTPS with a private certificate, and through a proxy.
///
/// Each test delivers in its own process: libcurl reads environment variables, which differ between the tests.
@Suite("Sinks over TLS")
struct TLSTests {
  @Test("a server whose certificate is in ca-file gets the event over TLS")
  func trusted() async throws {
    let server = try TLSServer()
    let port = server.port
    let certificate = server.certificate
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      deliver(to: "127.0.0.1:\(port)", caFile: certificate) { $0 == .delivered }
    }
    let asked = try server.stop()
    #expect(asked.count == 1 && asked.first?.hasPrefix("POST /api/42/envelope/ ") == true, "\(asked)")
  }

  @Test("an event is retried if the server's certificate is unknown or for another name")
  func untrusted() async throws {
    let server = try TLSServer()
    let port = server.port
    let certificate = server.certificate
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int] in
      deliver(to: "127.0.0.1:\(port)") { isKept($0, "127.0.0.1:\(port): SSL") }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      deliver(to: "localhost:\(port)", caFile: certificate) { isKept($0, "localhost:\(port): SSL") }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int] in
      deliver(to: "127.0.0.1:\(port)", caFile: "/nonexistent/ca.pem") { isKept($0, "127.0.0.1:\(port): ") }
    }
    #expect(try server.stop() == [])
  }

  @Test("a server that requires a client certificate accepts the configured one, and no other client")
  func clientCertificate() async throws {
    let server = try TLSServer(requiresCertificate: true)
    let (port, certificate, key) = (server.port, server.certificate, server.key)
    await #expect(processExitsWith: .exitCode(right)) {
      [port = port as Int, certificate = certificate as String, key = key as String] in
      let identity = ClientIdentity(certificate: certificate, key: key)
      deliver(to: "127.0.0.1:\(port)", caFile: certificate, identity: identity) { $0 == .delivered }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      deliver(to: "127.0.0.1:\(port)", caFile: certificate) { isKept($0, "127.0.0.1:\(port): ") }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      let identity = ClientIdentity(certificate: certificate, key: "/nonexistent/key.pem")
      deliver(to: "127.0.0.1:\(port)", caFile: certificate, identity: identity) { isKept($0, "127.0.0.1:\(port): ") }
    }
    #expect(try server.stop().count == 1)
  }

  @Test("a TLS session is resumed without a client certificate, and begins anew with one", arguments: [false, true])
  func resumption(hasCertificate: Bool) async throws {
    let server = try TLSServer(requiresCertificate: hasCertificate)
    let (port, certificate, key) = (server.port, server.certificate, hasCertificate ? server.key : nil)
    await #expect(processExitsWith: .exitCode(right)) {
      [port = port as Int, certificate = certificate as String, key = key as String?] in
      let identity = key.map { ClientIdentity(certificate: certificate, key: $0) }
      deliver(to: "127.0.0.1:\(port)", caFile: certificate, identity: identity, times: 2) { $0 == .delivered }
    }
    // The server closes the connection after each request, so each delivery begins a TLS session or resumes one.
    #expect(try server.stop().map { $0.hasSuffix(" resumed") } == [false, !hasCertificate])
  }

  @Test("https_proxy tunnels with its user, no_proxy bypasses the tunnel, and an unreachable proxy is an error")
  func proxy() async throws {
    let server = try TLSServer()
    let port = server.port
    let proxyPort = server.proxyPort
    let certificate = server.certificate
    await #expect(processExitsWith: .exitCode(right)) {
      [port = port as Int, proxyPort = proxyPort as Int, certificate = certificate as String] in
      deliver(
        to: "127.0.0.1:\(port)", caFile: certificate,
        environment: ["https_proxy": "http://user:secret@127.0.0.1:\(proxyPort)"]
      ) { $0 == .delivered }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      // No proxy listens on port 1, so the delivery succeeds only if libcurl obeys `no_proxy`.
      deliver(
        to: "127.0.0.1:\(port)", caFile: certificate,
        environment: ["https_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"]
      ) { $0 == .delivered }
    }
    await #expect(processExitsWith: .exitCode(right)) { [port = port as Int, certificate = certificate as String] in
      deliver(
        to: "127.0.0.1:\(port)", caFile: certificate, environment: ["https_proxy": "http://user:secret@127.0.0.1:1"]
      ) {
        isKept($0, "127.0.0.1:\(port): ") && !"\($0)".contains("secret")
      }
    }
    let asked = try server.stop()
    let user = Data("user:secret".utf8).base64EncodedString()
    #expect(asked.count == 3 && asked.first == "CONNECT 127.0.0.1:\(port) Basic \(user)", "\(asked)")
    #expect(asked.dropFirst().allSatisfy { $0.hasPrefix("POST /api/42/envelope/ ") }, "\(asked)")
  }
}

private func isKept(_ delivery: Delivery, _ beginning: String) -> Bool {
  if case .later(let why, _, _) = delivery { why.hasPrefix(beginning) && why.count > beginning.count } else { false }
}

/// Ends the process with the status 42 if each of the deliveries has the expected result.
///
/// Removes all proxy variables except those in `environment`.
private func deliver(
  to host: String, caFile: String? = nil, identity: ClientIdentity? = nil, environment: [String: String] = [:],
  times: Int = 1, isWanted: (Delivery) -> Bool
) {
  // unsetenv() and setenv() are safe, because only this thread of the process reads the environment. setenv() copies
  // the strings.
  for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] { unsafe unsetenv(name) }
  for (name, value) in environment { unsafe setenv(name, value, 1) }
  do {
    guard let dsn = SentryDSN("https://public-key@\(host)/42") else { throw CocoaError(.coderInvalidValue) }
    let http = HTTPClient(caFile: caFile, identity: identity)
    let sink = SentrySink(dsn, http: http, environment: nil, host: "web-1")
    let deliveries = try (0..<times).map { _ in try sink.deliver(Sample.event(id: "aa10")) }
    if deliveries.allSatisfy(isWanted) { exit(right) }
    FileHandle.standardError.write(Data("\(deliveries)\n".utf8))
  } catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
  }
  exit(1)
}
