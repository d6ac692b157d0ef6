import Glibc
import IntegrationKit
import Testing

/// What only the Hummingbird server has.
@Suite(.serialized)
struct HummingbirdTests {
  @Test("a trap in a streamed body closes the connection, and the process serves on")
  func stream() async throws {
    try await onThread {
      let server = try Server("hummingbird-server", containment: "contain:2")
      let whole = try Connection(to: server.port).get("/streams/3")
      #expect(whole.status == 200 && whole.isComplete && whole.body.contains("c"))
      let cut = try Connection(to: server.port).get("/streams/4")
      #expect(cut.status == 200 && !cut.isComplete)
      #expect(try Connection(to: server.port).get("/").status == 200)
    }
  }

  @Test("a request without a route is answered with the status 404")
  func unknown() async throws {
    let end = try await onThread {
      let server = try Server("hummingbird-server", containment: "off")
      #expect(try Connection(to: server.port).get("/nowhere").status == 404)
      server.send(SIGTERM)
      return try server.waitUntilEnd()
    }
    #expect(end.reports.isEmpty)
  }
}
