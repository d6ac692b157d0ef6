import CrashReport
import Glibc
import IntegrationKit
import Testing

/// Tests the Hummingbird server and the NIO server in the same situations.
@Suite(.serialized)
struct HTTPTests {
  static let servers = ["hummingbird-server", "nio-server"]
  /// The operation of a request that traps, by the name of the server.
  private static let route = ["hummingbird-server": "GET /articles/{index}", "nio-server": "GET /articles/{argument}"]

  @Test(
    "without containment, a trap in a request ends the process, and the report has the route, the ID and the trace",
    arguments: servers)
  func off(name: String) async throws {
    let end = try await onThread {
      let server = try Server(name, containment: "off")
      let (order, request) = try (Connection(to: server.port), Connection(to: server.port))
      #expect(try request.get("/").status == 200)
      try order.send("/orders/17")
      try server.wait(for: "waiting 17")
      #expect(try request.get("/articles/9", Self.headers).status == nil)
      return try server.waitUntilEnd()
    }
    #expect(end.signal == SIGILL, "\(end.errors)")
    let report = try #require(end.reports.first)
    let request = try #require(report.request)
    #expect(request.operation == Self.route[name])
    #expect(report.inFlight?.requests.contains { $0.operation.hasPrefix("GET /orders/{") } == true)
    #expect(request.traceID == Trace.id && request.spanID == Trace.span)
    #expect(name == "nio-server" ? request.id == "7F3A" : request.id?.count == 32)
  }

  @Test(
    "in the mode drain, a request that traps is answered, other requests finish, and connections are closed",
    arguments: servers)
  func drain(name: String) async throws {
    let end = try await onThread {
      let server = try Server(name, containment: "drain")
      let (order, trap) = try (Connection(to: server.port), Connection(to: server.port))
      try order.send("/orders/17")
      try server.wait(for: "waiting 17")
      let failure = try trap.get("/articles/9", Self.headers)
      #expect(failure.status == 500 && failure.headers["connection"] == "close" && failure.isComplete)
      // Another thread begins the drain, perhaps only after the client has received the response.
      try server.wait(for: "draining")
      // The drain waits for the request of order 17, which this line lets finish.
      try server.write("17")
      let reply = try order.reply()
      #expect(reply.status == 200 && reply.body == "order\n" && reply.headers["connection"] == "close")
      return try server.waitUntilEnd()
    }
    #expect(end.signal == SIGILL, "\(end.errors)")
    let report = try #require(end.reports.first)
    #expect(end.reports.count == 1)
    let request = try #require(report.request)
    #expect(request.operation == Self.route[name] && request.traceID == Trace.id && request.spanID == Trace.span)
  }

  @Test(
    "within the budget, a request that traps is answered, and the process continues and exits normally",
    arguments: servers)
  func contain(name: String) async throws {
    let end = try await onThread {
      let server = try Server(name, containment: "contain:2")
      let (order, other) = try (Connection(to: server.port), Connection(to: server.port))
      try order.send("/orders/17")
      try server.wait(for: "waiting 17")
      for _ in 1...2 {
        let failure = try Connection(to: server.port).get("/articles/9")
        #expect(failure.status == 500 && failure.headers["connection"] == "close" && failure.isComplete)
      }
      let page = try other.get("/")
      #expect(page.status == 200 && page.headers["connection"] == nil)
      try server.write("17")
      #expect(try order.reply().body == "order\n")
      server.send(SIGTERM)
      return try server.waitUntilEnd()
    }
    #expect(end.reports.isEmpty)
  }

  @Test("a server on an inherited socket loses no connection while the process drains", arguments: servers)
  func inherited(name: String) async throws {
    let end = try await onThread {
      let socket = try ListeningSocket()
      let server = try Server(name, containment: "drain", on: socket)
      let order = try Connection(to: socket.port)
      try order.send("/orders/17")
      try server.wait(for: "waiting 17")
      #expect(try Connection(to: socket.port).get("/articles/9").status == 500)
      let late = try Connection(to: socket.port)
      try late.send("/")
      try server.write("17")
      #expect(try order.reply().body == "order\n")
      let end = try server.waitUntilEnd()
      // Either the server accepted the connection `late` before it stopped accepting, or this connection waits for the
      // next process.
      if try !socket.hasConnection() { #expect(try late.reply().status == 200) }
      let next = try Connection(to: socket.port)
      try next.send("/")
      #expect(try socket.hasConnection())
      return end
    }
    #expect(end.signal == SIGILL, "\(end.errors)")
  }

  @Test("a server on an inherited socket closes each connection after its response in a drain", arguments: servers)
  func closing(name: String) async throws {
    try await onThread {
      let socket = try ListeningSocket()
      let server = try Server(name, containment: "drain", on: socket)
      let orders = try (Connection(to: socket.port), Connection(to: socket.port))
      try orders.0.send("/orders/17")
      try server.wait(for: "waiting 17")
      try orders.1.send("/orders/18")
      try server.wait(for: "waiting 18")
      #expect(try Connection(to: socket.port).get("/articles/9").status == 500)
      try server.wait(for: "draining")
      try server.write("17")
      let reply = try orders.0.reply()
      #expect(reply.body == "order\n" && reply.headers["connection"] == "close")
      // The client keeps the connection open, so only the server can close it.
      try orders.0.waitUntilClosed()
      // The second order still works, so the process did not close the first connection by ending.
      try server.write("18")
      #expect(try orders.1.reply().body == "order\n")
    }
  }

  private static let headers = Trace.headers.merging(["X-Request-ID": "7F3A"]) { $1 }
}
