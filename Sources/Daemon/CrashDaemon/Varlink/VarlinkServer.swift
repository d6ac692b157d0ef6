import CrashProtocol
import Glibc
import LinuxSystem
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The socket for clients: accepts connections and serves each in a task of its own.
struct VarlinkServer: Service {
  typealias Channel = NIOAsyncChannel<VarlinkFrame, ByteBuffer>

  /// An accepted connection within the limits, and its client.
  struct Accepted: Sendable {
    var channel: Channel
    var client: Client
    /// The account that the connection counts for.
    ///
    /// It is determined once, because the ranges of users may change meanwhile.
    var account: UInt32

    /// Work for trusted clients has precedence, and threads of its own: each priority has a pool.
    var priority: TaskPriority { UserAccounts.isTrusted(client.peer.uid) ? .medium : .low }
  }

  var listener: Descriptor
  var service = ServiceInterface()
  var interface: CrashdInterface
  var hub: EventHub
  var ledger: Ledger
  var limits: Limits
  let cpu: CPUAccounts
  private let connections = ConnectionCount()
  private let unserved = UnservedConnections()

  init(listener: Descriptor, interface: CrashdInterface, hub: EventHub) {
    self.listener = listener
    self.interface = interface
    self.hub = hub
    ledger = interface.ledger
    limits = interface.limits
    cpu = CPUAccounts(
      CPUAccounts.Allowance(burst_ms: limits.callBurst_ms, share_percent: limits.callShare_percent),
      users: limits.accounts)
  }

  func run() async throws {
    try await cancelWhenGracefulShutdown { try await serve() }
  }

  private func serve() async throws {
    // The server's channel owns and closes its own duplicate.
    let copy = fcntl(listener.number, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw SystemError("copy the listening socket") }
    let messageBytes = limits.messageBytes
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .bind(copy) { channel in
        // On the event loop: connections beyond the limits take no room from those that wait to be served.
        channel.eventLoop.makeCompletedFuture { () -> Accepted? in
          guard let (client, account) = enter(channel) else { return nil }
          let connection: Channel
          do {
            let decoder = ByteToMessageHandler(VarlinkFrameDecoder(limit: messageBytes), maximumBufferSize: nil)
            try channel.pipeline.syncOperations.addHandlers(decoder, VarlinkCallReader())
            connection = try Channel(wrappingChannelSynchronously: channel)
          } catch {
            connections.leave(account)
            throw error
          }
          if !unserved.add(connection) { Task { await Self.close(connection) } }
          return Accepted(channel: connection, client: client, account: account)
        }
      }
    var failure: (any Error)?
    do {
      try await server.executeThenClose { inbound in
        try await withThrowingDiscardingTaskGroup { group in
          for try await case let accepted? in inbound {
            group.addTask(priority: accepted.priority) { await serve(accepted) }
          }
        }
      }
    } catch is CancellationError {
      // A graceful stop ends this way.
    } catch {
      failure = error
    }
    for connection in unserved.end() { await Self.close(connection) }
    if let failure { throw failure }
  }

  /// Counts a connection.
  ///
  /// Nil: it is refused, and closed as soon as it is active.
  private func enter(_ channel: any NIOCore.Channel) -> (Client, account: UInt32)? {
    do {
      let client = try Self.client(of: channel, interface.access, ledger)
      let (peer, account) = (client.peer, limits.account(of: client.peer.uid))
      // Accepting and closing a connection costs more than most calls, on threads whose time is not attributed to a
      // user.
      cpu.charge(peer.uid, UInt64(limits.connectionCharge_us) * 1_000)
      guard let limit = connections.enter(peer.uid, account, limits: limits) else { return (client, account) }
      ledger.refuse("connection", from: peer, because: "too many connections, the limit is \(limit)")
      try channel.pipeline.syncOperations.addHandler(
        Refusal(reply: ReplyFrame.failure(.tooManyClients(limit: limit))))
    } catch {
      ledger.refuse("connection", from: Peer(pid: 0, uid: geteuid()), because: "no peer: \(error)")
      do { try channel.pipeline.syncOperations.addHandler(Refusal(reply: nil)) } catch { channel.close(promise: nil) }
    }
    return nil
  }

  private func serve(_ accepted: Accepted) async {
    let (channel, client) = (accepted.channel, accepted.client)
    let peer = client.peer
    unserved.remove(channel)
    defer { connections.leave(accepted.account) }
    do {
      try await channel.executeThenClose { inbound, _ in
        let writer = ReplyWriter(
          channel: channel.channel, peer: peer, ledger: ledger, limit_ms: limits.write_ms)
        var connection = VarlinkConnection(
          server: self, client: client, inbound: inbound.makeAsyncIterator(), writer: writer)
        do {
          try await connection.serve()
        } catch let error as FrameBoundary.TooLong {
          // Logged before the connection is closed: a client that sees the end finds the line.
          ledger.refuse("call", from: peer, because: "longer than \(error.limit) bytes")
        }
      }
    } catch {
      // The client disconnected, or crashd stops.
    }
  }

  /// Returns when the user has CPU time again.
  ///
  /// Meanwhile nothing is read from the connection but what NIO buffers, so the sender waits too.
  func waitForCPU(of peer: Peer) async throws {
    let wait_ns = cpu.wait_ns(for: peer.uid)
    guard wait_ns > 0 else { return }
    ledger.refuse("pace", from: peer, because: "its calls cost too much CPU time, paused \(wait_ns / 1_000_000) ms")
    try await Task.sleep(for: .nanoseconds(wait_ns))
  }

  private static func close(_ channel: Channel) async {
    // executeThenClose is the only way to release a NIOAsyncChannel; its error is about the closed socket.
    do { try await channel.executeThenClose { _, _ in } } catch {}
  }

  /// The client, with its rights for the life of the connection.
  ///
  /// On the event loop the channel's descriptor stays open during the call, which asks the kernel and does not block.
  private static func client(
    of channel: any NIOCore.Channel, _ access: AccessRule, _ ledger: Ledger
  ) throws -> Client {
    let client = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      try access.client(of: $0, ledger)
    }
    guard let client else { throw SystemError("ask for a peer", code: ENOTSUP) }
    return client
  }
}

/// Sends a last reply, if any, and closes the connection.
private final class Refusal: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let reply: ByteBuffer?

  init(reply: ByteBuffer?) { self.reply = reply }

  func channelActive(context: ChannelHandlerContext) {
    // It is in the client's socket before the end is.
    if let reply { context.writeAndFlush(Self.wrapOutboundOut(reply), promise: nil) }
    context.close(promise: nil)
  }

  /// Drops what the client sends.
  func channelRead(context _: ChannelHandlerContext, data _: NIOAny) {}
}

/// Accepted connections that are not served yet.
///
/// A NIOAsyncChannel that is released unserved traps, as those would that are accepted while crashd stops.
private final class UnservedConnections: Sendable {
  private struct State {
    var connections: [ObjectIdentifier: VarlinkServer.Channel] = [:]
    var isAtEnd = false
  }

  private let state = Mutex(State())

  /// Retains a connection until it is served; false: crashd stops, and serves no more.
  func add(_ connection: VarlinkServer.Channel) -> Bool {
    state.withLock { state in
      if !state.isAtEnd { state.connections[ObjectIdentifier(connection.channel)] = connection }
      return !state.isAtEnd
    }
  }

  func remove(_ connection: VarlinkServer.Channel) {
    // Released outside of the lock: its deinit runs NIO's code.
    let removed = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection.channel)) }
    withExtendedLifetime(removed) {}
  }

  /// The connections that will not be served.
  func end() -> [VarlinkServer.Channel] {
    state.withLock { state in
      state.isAtEnd = true
      defer { state.connections = [:] }
      return Array(state.connections.values)
    }
  }
}

/// Counts connections, in all and for each user.
private final class ConnectionCount: Sendable {
  private let counts = Mutex<[UInt32: Int]>([:])

  /// - Parameters:
  ///   - uid: The client's uid.
  ///   - account: The account that it counts for.
  ///   - limits: crashd's limits.
  /// - Returns: The limit that is reached; nil: the connection is counted.
  func enter(_ uid: UInt32, _ account: UInt32, limits: Limits) -> Int? {
    let most = limits.places(limits.connections, for: uid)
    return counts.withLock { counts in
      let own = counts[account, default: 0]
      guard counts.values.reduce(0, +) < most else { return most }
      guard uid == 0 || own < limits.connectionsPerUser else { return limits.connectionsPerUser }
      counts[account] = own + 1
      return nil
    }
  }

  func leave(_ account: UInt32) {
    counts.withLock { counts in
      let own = counts[account, default: 1] - 1
      counts[account] = own == 0 ? nil : own
    }
  }
}
