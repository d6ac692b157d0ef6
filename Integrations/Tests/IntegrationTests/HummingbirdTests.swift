import Glibc
import IntegrationKit
import Testing

/// Tests the features that only the Hummingbird server has.
@Suite(.serialized)
struct HummingbirdTests {
  @Test("a trap in a streamed response body closes the connection, and the process continues")
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

  @Test("a request that traps while a child task reads its body is answered, and the process continues")
  func upload() async throws {
    try await onThread {
      let server = try Server("hummingbird-server", containment: "contain:2")
      let upload = try Connection(to: server.port)
      try upload.send(text: "POST /uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
      let failure = try upload.reply()
      #expect(failure.status == 500 && failure.headers["connection"] == "close" && failure.isComplete)
      // The client never sends the rest of the upload. The server closes the connection without waiting for this rest.
      try upload.waitUntilClosed()
      #expect(try Connection(to: server.port).get("/").status == 200)
    }
  }

  @Test("an invalid request body after the response has begun closes the connection without a second response")
  func echo() async throws {
    try await onThread {
      let socket = try ListeningSocket()
      let server = try Server("hummingbird-server", containment: "off", on: socket)
      let echo = try Connection(to: server.port)
      try echo.send(
        text: "POST /echoes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
      try echo.wait(for: "half\r\n")
      try echo.send(text: "invalid\r\n")
      #expect(try echo.waitUntilClosed() == "")
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
