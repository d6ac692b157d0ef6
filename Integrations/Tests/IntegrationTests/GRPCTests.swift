import CrashReport
import GRPCCore
import GRPCNIOTransportHTTP2
import Glibc
import IntegrationKit
import Testing

/// Tests the example server of grpc-swift-2.
@Suite(.serialized)
struct GRPCTests {
  @Test("without containment, a trap in an RPC ends the process, and the report has the method, the ID and the trace")
  func off() async throws {
    let server = try await onThread { try Server("grpc-server", containment: "off") }
    try await Self.withClient(of: server) { client in
      let article = try await client.call("Article", 1)
      #expect(article == "b")
      await #expect(throws: RPCError.self) { try await client.call("Article", 9) }
    }
    let end = try await onThread { try server.waitUntilEnd() }
    #expect(end.signal == SIGILL, "\(end.errors)")
    let request = try #require(end.reports.first?.request)
    #expect(request.operation == "shop.Shop/Article" && request.id == "7F3A")
    #expect(request.traceID == Trace.id && request.spanID == Trace.span)
  }

  @Test("in the mode drain, an RPC that traps gets an error, and another RPC finishes")
  func drain() async throws {
    let server = try await onThread { try Server("grpc-server", containment: "drain") }
    try await Self.withClient(of: server) { client in
      let (end, order) = AsyncStream.makeStream(of: Void.self)
      async let reply = client.call("Order", 17, until: end)
      try await onThread { try server.wait(for: "waiting 17") }
      let error = await #expect(throws: RPCError.self) { try await client.call("Article", 9) }
      #expect(error?.code == .internalError)
      order.finish()
      #expect(try await reply == "order")
    }
    let end = try await onThread { try server.waitUntilEnd() }
    #expect(end.signal == SIGILL, "\(end.errors)")
    #expect(end.reports.first?.request?.operation == "shop.Shop/Article")
  }

  @Test("within the budget, an RPC that traps gets an error, also in a stream of messages, and the process continues")
  func contain() async throws {
    let server = try await onThread { try Server("grpc-server", containment: "contain:3") }
    try await Self.withClient(of: server) { client in
      let (end, order) = AsyncStream.makeStream(of: Void.self)
      async let reply = client.call("Order", 17, until: end)
      try await onThread { try server.wait(for: "waiting 17") }
      for method in ["Article", "Articles"] {
        let error = await #expect(throws: RPCError.self) { try await client.call(method, 9) }
        #expect(error?.code == .internalError)
      }
      #expect(try await client.call("Articles", 3) == "abc")
      order.finish()
      #expect(try await reply == "order")
    }
  }

  private typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

  private static func withClient(
    of server: Server, _ body: @Sendable @escaping (Client) async throws -> Void
  ) async throws {
    let transport = try HTTP2ClientTransport.Posix(
      target: .ipv4(address: "127.0.0.1", port: Int(server.port)), transportSecurity: .plaintext)
    try await withGRPCClient(transport: transport) { client in try await body(client) }
  }
}

extension GRPCClient {
  /// Calls a method of the shop, finishes the request when `end` finishes, and returns the messages of the response.
  fileprivate func call(
    _ method: String, _ number: Int, until end: AsyncStream<Void> = AsyncStream { $0.finish() }
  ) async throws -> String {
    var metadata: Metadata = ["x-request-id": "7F3A"]
    for (key, value) in Trace.headers { metadata.addString(value, forKey: key) }
    return try await bidirectionalStreaming(
      request: StreamingClientRequest(metadata: metadata) { writer in
        try await writer.write(Array("\(number)".utf8))
        for await _ in end {}
      },
      descriptor: MethodDescriptor(fullyQualifiedService: "shop.Shop", method: method),
      serializer: Bytes(), deserializer: Bytes(), options: .defaults
    ) { response in
      var text = ""
      for try await message in response.messages { text += String(decoding: message, as: UTF8.self) }
      return text
    }
  }
}

/// Passes bytes as they are.
private struct Bytes: MessageSerializer, MessageDeserializer {
  func serialize<Buffer: GRPCContiguousBytes>(_ message: [UInt8]) -> Buffer { Buffer(message) }

  func deserialize<Buffer: GRPCContiguousBytes>(_ bytes: Buffer) -> [UInt8] {
    // The array copies the bytes before the buffer becomes invalid.
    unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }
}
