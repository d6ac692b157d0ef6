internal import CrashShield
internal import CrashShieldServer
public import GRPCCore

/// A server transport that runs each RPC of another transport as a contained request.
///
/// ```swift
/// let transport = ContainedTransport(
///   HTTP2ServerTransport.Posix(address: .ipv4(host: "0.0.0.0", port: 8080), transportSecurity: .plaintext))
/// let server = GRPCServer(transport: transport, services: [Greeter()])
/// drain.onBegin { server.beginGracefulShutdown() }
/// ```
///
/// If an RPC traps, the RPC ends with the status `internalError`, and the other RPCs continue. The report of a crash
/// names the method, the ID and the trace of the RPC. If containment is off, the transport only registers each RPC, so
/// that reports name it, and a trap ends the process.
///
/// The operation of an RPC is the name of its method. The client chooses this name, even if the server has no such
/// method.
///
/// Use this transport instead of an interceptor. After a trap, abandoned work of the RPC can still run, and must not
/// use memory of its caller. The closure `next` of an interceptor is in such memory, so an interceptor cannot contain
/// an RPC.
public struct ContainedTransport<Base: ServerTransport>: ServerTransport {
  /// The type of a message's bytes.
  public typealias Bytes = Base.Bytes

  /// The transport that accepts the RPCs.
  public let base: Base
  private let idKey: String

  /// Creates the transport.
  ///
  /// - Parameters:
  ///   - base: The transport that accepts the RPCs.
  ///   - idKey: The metadata key for the ID that the client gave the request.
  public init(_ base: Base, idKey: String = "x-request-id") {
    (self.base, self.idKey) = (base, idKey)
  }

  /// Configures `base` for the server.
  public func configure(context: GRPCServerContext) { base.configure(context: context) }

  /// Stops accepting RPCs.
  ///
  /// The accepted RPCs continue until they finish.
  public func beginGracefulShutdown() { base.beginGracefulShutdown() }

  /// Accepts RPCs until the transport is shut down.
  ///
  /// - Throws: The error of the transport that accepts the RPCs.
  public func listen(
    streamHandler: @escaping @Sendable (_ stream: RPCStream<Inbound, Outbound>, _ context: ServerContext) async -> Void
  ) async throws {
    let idKey = idKey
    try await base.listen { stream, context in
      await Self.run(stream, idKey: idKey) { stream in await streamHandler(stream, context) }
    }
  }

  private static func run(
    _ stream: RPCStream<Inbound, Outbound>, idKey: String,
    _ handler: @escaping @Sendable (RPCStream<Inbound, Outbound>) async -> Void
  ) async {
    // The metadata is the first part of the stream.
    let inbound = await ReplayedParts(stream.inbound)
    let metadata = inbound.metadata ?? [:]
    let parent = TraceParent(onlyOf: metadata[stringValues: TraceParent.headerName])
    let id = metadata[stringValues: idKey].first { _ in true }
    var contained = stream
    contained.inbound = RPCAsyncSequence(wrapping: inbound)
    do {
      let contained = contained
      try await Shield.withContainedRequest(
        stream.descriptor.fullyQualifiedMethod, id: id, traceID: parent?.traceID, spanID: parent?.spanID
      ) { await handler(contained) }
    } catch {
      await fail(stream, (error as? ShieldFault)?.responseText ?? "The request failed.")
    }
  }

  /// Ends the RPC with an error, unless its stream has ended.
  private static func fail(_ stream: RPCStream<Inbound, Outbound>, _ message: String) async {
    try? await stream.outbound.write(.status(Status(code: .internalError, message: message), [:]))
    await stream.outbound.finish()
  }
}
