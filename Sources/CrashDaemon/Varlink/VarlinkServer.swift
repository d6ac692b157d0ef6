import Glibc
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The socket for clients: accepts connections and serves each in a task of its own.
struct VarlinkServer: Service {
  typealias Channel = NIOAsyncChannel<[UInt8], ByteBuffer>

  var listener: Descriptor
  var service = ServiceInterface()
  var interface: CrashdInterface
  var hub: EventHub
  var ledger: Ledger
  var limits: Limits
  private let connections = ConnectionCount()
  private let unserved = UnservedConnections()

  init(listener: Descriptor, interface: CrashdInterface, hub: EventHub) {
    self.listener = listener
    self.interface = interface
    self.hub = hub
    ledger = interface.ledger
    limits = interface.limits
  }

  func run() async throws {
    try await cancelWhenGracefulShutdown { try await serve() }
  }

  private func serve() async throws {
    // The server's channel owns and closes its own copy.
    let copy = fcntl(listener.number, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw SystemError("copy the listening socket") }
    let messageBytes = limits.messageBytes
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .bind(copy) { channel in
        channel.eventLoop.makeCompletedFuture {
          let decoder = ByteToMessageHandler(VarlinkFrameDecoder(limit: messageBytes), maximumBufferSize: nil)
          try channel.pipeline.syncOperations.addHandler(decoder)
          let connection = try Channel(wrappingChannelSynchronously: channel)
          if !unserved.add(connection) { Task { await Self.close(connection) } }
          return connection
        }
      }
    var failure: (any Error)?
    do {
      try await server.executeThenClose { inbound in
        try await withThrowingDiscardingTaskGroup { group in
          for try await channel in inbound { group.addTask { await serve(channel) } }
        }
      }
    } catch is CancellationError {
      // The way a graceful stop ends.
    } catch {
      failure = error
    }
    for connection in unserved.end() { await Self.close(connection) }
    if let failure { throw failure }
  }

  private func serve(_ channel: Channel) async {
    unserved.remove(channel)
    let client: Client
    do {
      client = try await self.client(of: channel.channel)
    } catch {
      ledger.refuse("connection", from: Peer(pid: 0, uid: geteuid()), because: "no peer: \(error)")
      await Self.close(channel)
      return
    }
    let peer = client.peer
    guard connections.enter(peer.uid, limits: limits) else {
      ledger.refuse("connection", from: peer, because: "too many connections")
      await Self.close(channel)
      return
    }
    defer { connections.leave(peer.uid) }
    do {
      try await channel.executeThenClose { inbound, _ in
        let writer = ReplyWriter(
          channel: channel.channel, peer: peer, ledger: ledger, limit_ms: limits.write_ms)
        var connection = VarlinkConnection(
          server: self, client: client, inbound: inbound.makeAsyncIterator(), writer: writer)
        do {
          try await connection.serve()
        } catch let error as VarlinkFrameDecoder.TooLong {
          // Told before the connection is closed: who sees it closed finds it in the log.
          ledger.refuse("call", from: peer, because: "longer than \(error.limit) bytes")
        }
      }
    } catch {
      // The client went away, or crashd stops: nobody is left to tell.
    }
  }

  private static func close(_ channel: Channel) async {
    // executeThenClose is the one way to let go of a NIOAsyncChannel; what it throws is of the closed socket.
    do { try await channel.executeThenClose { _, _ in } } catch {}
  }

  /// Who it is, and what he may as long as he is connected.
  private func client(of channel: any NIOCore.Channel) async throws -> Client {
    let (access, ledger) = (interface.access, ledger)
    return try await channel.eventLoop.submit {
      // On the loop the channel's descriptor is open as long as this runs; the kernel is asked, and nobody waited for.
      let client = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        try access.client(of: $0, ledger)
      }
      guard let client else { throw SystemError("ask for a peer", code: ENOTSUP) }
      return client
    }.get()
  }
}

/// Connections that were accepted and are not served yet.
///
/// A NIOAsyncChannel that goes away without having been served traps, and those do that are accepted while crashd stops.
private final class UnservedConnections: Sendable {
  private struct State {
    var connections: [ObjectIdentifier: VarlinkServer.Channel] = [:]
    var isAtEnd = false
  }

  private let state = Mutex(State())

  /// Keeps it until it is served; false: nobody will.
  func add(_ connection: VarlinkServer.Channel) -> Bool {
    state.withLock { state in
      if !state.isAtEnd { state.connections[ObjectIdentifier(connection.channel)] = connection }
      return !state.isAtEnd
    }
  }

  func remove(_ connection: VarlinkServer.Channel) {
    // What is let go of under the lock would run NIO's code there.
    let removed = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection.channel)) }
    withExtendedLifetime(removed) {}
  }

  /// Those that nobody will serve any more.
  func end() -> [VarlinkServer.Channel] {
    state.withLock { state in
      state.isAtEnd = true
      defer { state.connections = [:] }
      return Array(state.connections.values)
    }
  }
}

/// How many connections there are, in all and of each user.
private final class ConnectionCount: Sendable {
  private let counts = Mutex<[UInt32: Int]>([:])

  func enter(_ uid: UInt32, limits: Limits) -> Bool {
    counts.withLock { counts in
      let own = counts[uid, default: 0]
      guard counts.values.reduce(0, +) < limits.connections, uid == 0 || own < limits.connectionsPerUser else {
        return false
      }
      counts[uid] = own + 1
      return true
    }
  }

  func leave(_ uid: UInt32) {
    counts.withLock { counts in
      let own = counts[uid, default: 1] - 1
      counts[uid] = own == 0 ? nil : own
    }
  }
}
