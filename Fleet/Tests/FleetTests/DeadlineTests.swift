import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import FleetServer

@Suite("Deadlines")
struct DeadlineTests {
  /// A connection whose clock the test moves.
  private struct Connection {
    private let channel: EmbeddedChannel

    init() throws {
      channel = EmbeddedChannel(
        handler: DeadlineHandler(.init(request: .seconds(30), answer: .seconds(120), idle: .seconds(75))))
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    var isOpen: Bool { channel.isActive }

    func receive(_ parts: HTTPRequestPart...) throws { for part in parts { try channel.writeInbound(part) } }

    func answer() throws {
      try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
      try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    /// Moves the clock, and returns whether a request was too slow.
    func advance(_ seconds: Int64) -> Bool {
      (channel.eventLoop as? EmbeddedEventLoop)?.advanceTime(by: .seconds(seconds))
      do { try channel.throwIfErrorCaught() } catch { return error is SlowClient }
      return false
    }
  }

  private static let head = HTTPRequestPart.head(
    HTTPRequest(method: .post, scheme: "http", authority: "f", path: "/v1/reports"))
  private static let body = HTTPRequestPart.body(ByteBuffer(string: "x"))

  @Test("a request must end within a fixed time, however often bytes arrive")
  func slowRequest() throws {
    let connection = try Connection()
    try connection.receive(Self.head)
    for _ in 0..<29 {
      try connection.receive(Self.body)
      #expect(!connection.advance(1))
    }
    try connection.receive(Self.body)
    #expect(connection.advance(1))
    // The client can read the refusal, and then the connection is closed, although bytes still arrive.
    try connection.answer()
    for _ in 0..<2 {
      try connection.receive(Self.body)
      #expect(!connection.advance(1) && connection.isOpen)
    }
    #expect(!connection.advance(1) && !connection.isOpen)
  }

  @Test("a client that reads no answer and does not end its next request loses its connection")
  func unread() throws {
    let connection = try Connection()
    for _ in 0..<5 { try connection.receive(Self.head, .end(nil)) }
    try connection.receive(Self.head)
    #expect(connection.advance(30) && connection.isOpen)
    #expect(!connection.advance(119) && connection.isOpen)
    #expect(!connection.advance(1) && !connection.isOpen)
  }

  @Test("an answer must end within a fixed time, and then the connection is idle")
  func answer() throws {
    let answered = try Connection()
    try answered.receive(Self.head, Self.body, .end(nil))
    #expect(!answered.advance(119) && answered.isOpen)
    try answered.answer()
    #expect(!answered.advance(74) && answered.isOpen)
    #expect(!answered.advance(1) && !answered.isOpen)
    let unanswered = try Connection()
    try unanswered.receive(Self.head, .end(nil))
    #expect(!unanswered.advance(120) && !unanswered.isOpen)
  }

  @Test("a connection without a request is closed")
  func idle() throws {
    let connection = try Connection()
    #expect(!connection.advance(75) && !connection.isOpen)
  }

  @Test("the answer to an earlier request does not extend the deadline of the next one")
  func pipelined() throws {
    let connection = try Connection()
    try connection.receive(Self.head, .end(nil), Self.head)
    #expect(!connection.advance(20))
    try connection.answer()
    #expect(connection.advance(10))
  }

  @Test("a refusal does not extend the deadline of the body that still arrives")
  func refused() throws {
    let connection = try Connection()
    try connection.receive(Self.head, Self.body)
    try connection.answer()
    #expect(!connection.advance(29))
    #expect(connection.advance(1))
    // The connection ends, although the refused body has ended now.
    try connection.receive(.end(nil))
    #expect(!connection.advance(2) && connection.isOpen)
    #expect(!connection.advance(1) && !connection.isOpen)
    // Once a refused body has ended in time, the connection is idle.
    let inTime = try Connection()
    try inTime.receive(Self.head, Self.body)
    try inTime.answer()
    try inTime.receive(.end(nil))
    #expect(!inTime.advance(74) && inTime.isOpen)
    #expect(!inTime.advance(1) && !inTime.isOpen)
  }
}
