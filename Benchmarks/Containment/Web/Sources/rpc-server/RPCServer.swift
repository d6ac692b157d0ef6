import CrashShield
import CrashShieldGRPC
import CrashShieldServer
import CrashShieldSockets
import GRPCCore
import GRPCNIOTransportHTTP2
import Glibc
import LoadWork
import NIOCore

/// Prints its port, and serves RPCs until a signal ends it.
///
/// Usage: `rpc-server off|drain|drain-pool|contain:N`. The server takes over the listening socket that its supervisor
/// passed, or else binds a free port. The request message of the method `load.Load/Answer` is one of the paths that
/// `Work` answers.
@main
enum RPCServer {
  static func main() async throws {
    guard let containment = Work.containment(CommandLine.arguments.dropFirst().first ?? "off") else { exit(64) }
    let drain = Drain()
    var configuration = Shield.Configuration()
    configuration.containment = containment
    configuration.onDrain = drain.begin
    try Shield.startOrThrow(configuration)

    let socket = InheritedSocket.all().first
    let transport = ContainedTransport(
      socket.map { listening(on: $0, drain) }
        ?? HTTP2ServerTransport.Posix(address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext))
    let server = GRPCServer(transport: transport, services: [Answers()])
    drain.onBegin {
      Task {
        // The graceful shutdown would close accepted connections that are not set up yet. In this time, they can begin
        // their requests.
        if socket != nil { try? await Task.sleep(for: .milliseconds(200)) }
        server.beginGracefulShutdown()
      }
    }
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await server.serve() }
      print(try await transport.base.listeningAddress.ipv4?.port ?? 0)
      fflush(nil)
    }
  }

  /// Creates a transport that listens on the socket that the supervisor passed.
  ///
  /// When the drain begins, new connections wait in the queue of this socket for the next process.
  private static func listening(on socket: InheritedSocket, _ drain: Drain) -> HTTP2ServerTransport.Posix {
    var config = HTTP2ServerTransport.Posix.Config.defaults
    config.channelDebuggingCallbacks.onBindTCPListener = { channel in
      drain.onBegin { _ = channel.setOption(.autoRead, value: false) }
      return channel.eventLoop.makeSucceededVoidFuture()
    }
    return HTTP2ServerTransport.Posix(
      listeningSocketDescriptor: Int(socket.descriptor), transportSecurity: .plaintext, config: config)
  }
}

/// A service whose messages are plain strings, so that the server needs no generated code.
private struct Answers: RegistrableRPCService {
  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(
      forMethod: MethodDescriptor(fullyQualifiedService: "load.Load", method: "Answer"),
      deserializer: Text(), serializer: Text()
    ) { request, _ in
      let path = try await ServerRequest(stream: request).message
      return StreamingServerResponse(single: ServerResponse(message: try await Work.answer(path)))
    }
  }
}

/// Encodes a string as its bytes.
private struct Text: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: String) -> Bytes { Bytes(message.utf8) }

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> String {
    bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
