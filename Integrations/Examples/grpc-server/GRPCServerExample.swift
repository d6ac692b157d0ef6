import CrashShield
import CrashShieldGRPC
import CrashShieldServer
import ExampleKit
import GRPCCore
import GRPCNIOTransportHTTP2

/// A gRPC server that listens on a loopback port that the kernel chooses, and prints the port.
@main struct GRPCServerExample {
  static func main() async throws {
    let drain = Drain()
    var configuration = Shield.Configuration(name: "grpc-server")
    configuration.onDrain = drain.begin
    try Shield.startOrThrow(configuration)

    let transport = ContainedTransport(
      HTTP2ServerTransport.Posix(address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext))
    let server = GRPCServer(transport: transport, services: [Shop()])
    drain.onBegin { server.beginGracefulShutdown() }
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await server.serve() }
      let address = try await transport.base.listeningAddress
      writeLine("port \(address.ipv4?.port ?? 0)")
    }
  }
}

/// A service whose messages are bytes, so that the example needs no generated code.
struct Shop: RegistrableRPCService {
  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(
      forMethod: MethodDescriptor(fullyQualifiedService: "shop.Shop", method: "Article"),
      deserializer: Bytes(), serializer: Bytes()
    ) { request, _ in
      try await StreamingServerResponse(
        single: ServerResponse(message: Array(article(index(of: request)).utf8)))
    }
    // Waits until the client has sent all messages of the RPC.
    router.registerHandler(
      forMethod: MethodDescriptor(fullyQualifiedService: "shop.Shop", method: "Order"),
      deserializer: Bytes(), serializer: Bytes()
    ) { request, _ in
      for try await message in request.messages { writeLine("waiting \(String(decoding: message, as: UTF8.self))") }
      return StreamingServerResponse(single: ServerResponse(message: Array("order".utf8)))
    }
    // Writes as many articles as the client requests.
    router.registerHandler(
      forMethod: MethodDescriptor(fullyQualifiedService: "shop.Shop", method: "Articles"),
      deserializer: Bytes(), serializer: Bytes()
    ) { request, _ in
      let count = try await index(of: request)
      return StreamingServerResponse { writer in
        for index in 0..<count { try await writer.write(Array(article(index).utf8)) }
        return [:]
      }
    }
  }
}

/// Returns the number in the only message of a request.
private func index(of request: StreamingServerRequest<[UInt8]>) async throws -> Int {
  let request = try await ServerRequest(stream: request)
  return Int(String(decoding: request.message, as: UTF8.self)) ?? 0
}

/// Passes bytes as they are.
struct Bytes: MessageSerializer, MessageDeserializer {
  func serialize<Buffer: GRPCContiguousBytes>(_ message: [UInt8]) -> Buffer { Buffer(message) }

  func deserialize<Buffer: GRPCContiguousBytes>(_ bytes: Buffer) -> [UInt8] {
    // The array copies the bytes before the buffer becomes invalid.
    unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }
}
