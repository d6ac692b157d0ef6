import CrashProtocol
import CrashStore
import NIOCore

/// Serves the connection of one client.
///
/// The calls on the connection are answered one after another.
struct VarlinkConnection {
  let server: VarlinkServer
  let client: Client
  var inbound: NIOAsyncChannelInboundStream<VarlinkFrame>.AsyncIterator
  let writer: ReplyWriter

  private var peer: Peer { client.peer }

  /// Answers calls until the client disconnects or sends a message that is not a call.
  mutating func serve() async throws {
    while let frame = try await inbound.next() {
      let (cpu, uid) = (server.cpu, peer.uid)
      cpu.charge(uid, frame.cost_ns)
      guard let call = frame.call else {
        server.ledger.refuse("call", from: peer, because: "it is not a Varlink call")
        return
      }
      try await server.waitForCPU(of: peer)
      if call.more == true, call.interface == Methods.interface, Self.streams.contains(call.name) {
        if try await stream(call) { return }
        continue
      }
      let reply = await CPUAccounts.$current.withValue(CPUAccounts.Charge(cpu, uid)) { await answer(call) }
      if call.oneway != true { try await writer.write(reply) }
    }
  }

  private func answer(_ call: VarlinkCall) async -> ByteBuffer {
    do throws(ProtocolError) {
      if call.upgrade == true { throw .methodNotImplemented(String(call.method.prefix(128))) }
      switch call.interface {
      case ServiceInterface.name: return ReplyFrame.success(try server.service.reply(to: call))
      case Methods.interface: return ReplyFrame.success(try await server.interface.reply(to: call, from: client))
      default: throw .interfaceNotFound(String(call.interface.prefix(128)))
      }
    } catch {
      if error.name.hasPrefix(ServiceInterface.name) {
        server.ledger.refuse("call", from: peer, because: "\(error.name) \(error.parameters.description.prefix(160))")
      }
      return ReplyFrame.failure(error)
    }
  }
}

// Handles calls that have many replies.
extension VarlinkConnection {
  private static let streams: Set<String> = [Methods.Subscribe.name, Methods.Incidents.name]
  private static let subscribeParameters = ParameterReader(Methods.Subscribe.Parameters.self)
  private static let incidentParameters = ParameterReader(Methods.Incidents.Parameters.self)

  /// Sends a stream of pages from the store, if the call requests a stream.
  ///
  /// - Returns: Whether the caller must end the connection.
  private mutating func stream(_ call: VarlinkCall) async throws -> Bool {
    let pages: any StoredPages
    do throws(ProtocolError) {
      let begun = CPUAccounts.$current.withValue(CPUAccounts.Charge(server.cpu, peer.uid)) {
        Result { () throws(ProtocolError) in try begin(call) }
      }
      pages = try begun.get()
    } catch {
      try await writer.write(ReplyFrame.failure(error))
      return false
    }
    await withTaskGroup { group in
      group.addTask { await pages.write() }
      do {
        // The stream ends only with the connection, so the client must not send another call.
        if try await inbound.next() != nil {
          server.ledger.refuse("call", from: peer, because: "it arrived during \(call.name) on the same connection")
        }
      } catch {
        // Ignore an error, because it means that the client or `pages` has closed the connection, or that crashd stops.
      }
      group.cancelAll()
    }
    return true
  }

  private func begin(_ call: VarlinkCall) throws(ProtocolError) -> any StoredPages {
    if call.name == Methods.Incidents.name {
      return try IncidentPages(server, client, writer, Self.incidentParameters.read(call))
    }
    return try events(call)
  }

  private func events(_ call: VarlinkCall) throws(ProtocolError) -> EventPages {
    let interface = server.interface
    let parameters = try Self.subscribeParameters.read(call)
    let given = try interface.cursor(parameters.own.cursor)
    var subscriber: String?
    if let name = parameters.own.subscriber { subscriber = try interface.checked(subscriber: name) }
    let filter = try interface.checked(parameters.shared)
    let visibility = client.visibility
    let mayHaveExpired = parameters.own.expired ?? false
    let cursor = try interface.reading { () throws(StoreError) in
      if let subscriber {
        let reached = try interface.store.enter(subscriber: subscriber, uid: peer.uid, at: Moment.now().description)
        if given == nil { return reached }
      }
      guard let given else { return try interface.store.newestCursor() }
      _ = try interface.store.events(after: given, visibility: visibility, limit: 0)
      return given
    }
    let missed = try interface.missed(after: cursor, visibility)
    guard missed.count == 0 || mayHaveExpired else { throw ProtocolError(missed) }
    return EventPages(server, client, writer, from: cursor, filter, lost: missed.count)
  }
}
