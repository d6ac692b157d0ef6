import CrashProtocol
import Glibc
import LinuxSystem
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Listens for clients on a socket, and serves each accepted connection in a separate task.
struct VarlinkServer: Service {
  typealias Channel = NIOAsyncChannel<VarlinkFrame, ByteBuffer>

  /// An accepted connection that is within the limits, with its client.
  struct Accepted: Sendable {
    var channel: Channel
    var client: Client
    /// The account that is charged for the connection.
    ///
    /// The account is determined only once, because the settings for uid ranges can change during the connection.
    var account: UInt32

    /// The priority of the connection's task.
    ///
    /// Trusted clients have a higher priority than other clients, and Swift runs each priority on separate threads.
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
    // The server's NIO channel takes ownership of its descriptor and closes it. Therefore, duplicate the listening
    // descriptor.
    let copy = fcntl(listener.number, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw SystemError("copy the listening socket") }
    let messageBytes = limits.messageBytes
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .bind(copy) { channel in
        // Check the limits on the event loop, before the connection is added to the queue of accepted connections.
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
      // Do not log a cancellation, because crashd cancels this task when it stops.
    } catch {
      failure = error
    }
    for connection in unserved.end() { await Self.close(connection) }
    if let failure { throw failure }
  }

  /// Checks the limits for a new connection, and counts the connection if it is within the limits.
  ///
  /// Returns nil if the connection is refused. A refused connection is closed when its channel becomes active.
  private func enter(_ channel: any NIOCore.Channel) -> (Client, account: UInt32)? {
    do {
      let client = try Self.client(of: channel, interface.access, ledger)
      let (peer, account) = (client.peer, limits.account(of: client.peer.uid))
      // Charge the user a fixed cost for each connection. Accepting and closing a connection costs more than most
      // calls. The event loop does this work, and its CPU time cannot be assigned to users.
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
          // Log the refusal before the connection is closed, so that the log line exists when the client detects that
          // the connection is closed.
          ledger.refuse("call", from: peer, because: "longer than \(error.limit) bytes")
        }
      }
    } catch {
      // Ignore an error, because it means that the client has disconnected or that crashd stops.
    }
  }

  /// Waits until the user's CPU time limit allows more work.
  ///
  /// During the wait, crashd reads only as much as NIO's buffer can hold, so the client has to wait, too.
  func waitForCPU(of peer: Peer) async throws {
    let wait_ns = cpu.wait_ns(for: peer.uid)
    guard wait_ns > 0 else { return }
    ledger.refuse("pace", from: peer, because: "its calls used too much CPU time, paused for \(wait_ns / 1_000_000) ms")
    try await Task.sleep(for: .nanoseconds(wait_ns))
  }

  private static func close(_ channel: Channel) async {
    // A NIOAsyncChannel must be released with executeThenClose, because otherwise its deinit traps. Ignore the error,
    // because the socket is already closed.
    do { try await channel.executeThenClose { _, _ in } } catch {}
  }

  /// Returns the client of a connection.
  ///
  /// The client's access rights are determined once for the whole connection.
  ///
  /// This method runs on the event loop, so the channel's descriptor cannot be closed during the call. Its queries to
  /// the kernel do not block the event loop.
  private static func client(
    of channel: any NIOCore.Channel, _ access: AccessRule, _ ledger: Ledger
  ) throws -> Client {
    let client = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      try access.client(of: $0, ledger)
    }
    guard let client else { throw SystemError("read the peer of a connection", code: ENOTSUP) }
    return client
  }
}

/// Sends a last reply, if there is one, and closes the connection.
private final class Refusal: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let reply: ByteBuffer?

  init(reply: ByteBuffer?) { self.reply = reply }

  func channelActive(context: ChannelHandlerContext) {
    // Write the reply to the client's socket before the connection is closed.
    if let reply { context.writeAndFlush(Self.wrapOutboundOut(reply), promise: nil) }
    context.close(promise: nil)
  }

  /// Discards all data that the refused client sends.
  func channelRead(context _: ChannelHandlerContext, data _: NIOAny) {}
}

/// Holds accepted connections until a task serves them.
///
/// A NIOAsyncChannel traps if it is released before it was served. Without this type, connections that are accepted
/// while crashd stops would trap.
private final class UnservedConnections: Sendable {
  private struct State {
    var connections: [ObjectIdentifier: VarlinkServer.Channel] = [:]
    var isAtEnd = false
  }

  private let state = Mutex(State())

  /// Holds a connection until a task serves it; returns false if crashd stops.
  func add(_ connection: VarlinkServer.Channel) -> Bool {
    state.withLock { state in
      if !state.isAtEnd { state.connections[ObjectIdentifier(connection.channel)] = connection }
      return !state.isAtEnd
    }
  }

  func remove(_ connection: VarlinkServer.Channel) {
    // Release the connection outside the lock, because its deinit calls NIO's code.
    let removed = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection.channel)) }
    withExtendedLifetime(removed) {}
  }

  /// Returns the connections that no task will serve.
  ///
  /// After this call, `add` returns false.
  func end() -> [VarlinkServer.Channel] {
    state.withLock { state in
      state.isAtEnd = true
      defer { state.connections = [:] }
      return Array(state.connections.values)
    }
  }
}

/// Counts the open connections, in total and for each account.
private final class ConnectionCount: Sendable {
  private let counts = Mutex<[UInt32: Int]>([:])

  /// - Parameters:
  ///   - uid: The client's uid.
  ///   - account: The account to which the connection is charged.
  ///   - limits: crashd's limits.
  /// - Returns: The limit that the connection would exceed; nil if the connection is within the limits. In this case,
  ///   the method has counted the connection.
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
