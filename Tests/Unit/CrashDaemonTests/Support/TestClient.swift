import CTestKit
import CrashProtocol
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import CrashDaemon

/// A blocking socket for tests.
///
/// Its timeout is so long that only a failing test reaches it.
struct TestSocket: Sendable {
  let descriptor: Descriptor
  private let peer: TestPeer?

  /// Connects as `user`, or as the user of this process if `user` is nil.
  init(path: String, type: Int32, as user: TestUser? = nil) throws {
    let number = socket(AF_UNIX, type | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemError("make a socket") }
    descriptor = Descriptor(owning: number)
    peer = try user.map { try TestPeer($0, connecting: number, to: path) }
    var limit = timeval(tv_sec: 300, tv_usec: 0)
    // setsockopt() reads one timeval.
    _ = unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    if user != nil { return }
    guard let address = UnixAddress(path: path) else { throw SystemError("connect to '\(path)'", code: ENAMETOOLONG) }
    try SystemError.check(address.connect(number), "connect to '\(path)'")
  }

  /// Wraps a socket that other code connects.
  init(unconnected descriptor: Descriptor) { (self.descriptor, peer) = (descriptor, nil) }

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest)
      // Invariant: send() reads as many bytes as the array has.
      let count = unsafe Glibc.send(descriptor.number, part, part.count, Int32(MSG_NOSIGNAL))
      guard count > 0 else { throw SystemError("send") }
      rest = rest.dropFirst(count)
    }
  }

  /// Receives one message, or one part of the stream.
  ///
  /// Returns an empty array at the end of the stream.
  func receive(limit: Int = 65_536) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var count: Int
    // After a signal, the kernel does not restart a call that has a time limit, so this loop repeats the call.
    // Invariant: recv() writes at most as many bytes as the array has.
    repeat { count = unsafe recv(descriptor.number, &bytes, limit, 0) } while count < 0 && errno == EINTR
    if count < 0 && errno == ECONNRESET { return [] }
    guard count >= 0 else { throw SystemError("receive") }
    return Array(bytes.prefix(count))
  }
}

/// The user and the groups of a peer that connects.
///
/// Only root can change to another user.
struct TestUser: Sendable {
  var uid: UInt32
  var gid: UInt32
  var groups: [gid_t] = []
  /// Whether the process that connects is non-dumpable.
  var isRestricted = false
  /// The new namespaces of the process, such as `CD_TEST_NEW_PIDS`.
  var namespaces = 0
}

/// A child process of another user.
///
/// It runs as long as this object exists.
private final class TestPeer: Sendable {
  private let link: Int32
  private let child: Int32

  init(_ user: TestUser, connecting socket: Int32, to path: String) throws {
    var (link, child): (Int32, Int32) = (-1, -1)
    // Invariant: the array has as many elements as the passed count, and the path ends with a NUL.
    let code = unsafe cd_test_connect_as(
      socket, path, user.uid, user.gid, user.groups, user.groups.count, user.isRestricted,
      Int32(user.namespaces), &link, &child)
    (self.link, self.child) = (link, child)
    try SystemError.check(code, "connect to '\(path)' as uid \(user.uid)")
  }

  deinit { if child > 0 { cd_test_peer_end(link, child) } }
}

/// A Varlink client for tests.
final class TestClient: Sendable {
  let path: String
  let socket: TestSocket
  private let rest = Mutex<[UInt8]>([])

  init(path: String, as user: TestUser? = nil) async throws {
    self.path = path
    socket = try await onThread { try TestSocket(path: path, type: Int32(SOCK_STREAM.rawValue), as: user) }
  }

  /// Calls a method, and returns the parameters of its reply.
  func call(_ method: String, _ parameters: [String: JSONValue] = [:]) async throws -> [String: JSONValue] {
    try await send(method, parameters)
    return try await reply().object("parameters")
  }

  func send(
    _ method: String, _ parameters: [String: JSONValue] = [:], more: Bool = false, oneway: Bool = false
  ) async throws {
    let call: JSONValue = .object([
      "method": .string(method), "parameters": .object(parameters), "more": .bool(more), "oneway": .bool(oneway),
    ])
    try await send(try Array(JSONEncoder().encode(call)) + [0])
  }

  func send(_ bytes: [UInt8]) async throws {
    let socket = socket
    try await onThread { try socket.send(bytes) }
  }

  /// Shuts the connection down.
  func close() { shutdown(socket.descriptor.number, Int32(SHUT_RDWR)) }

  /// Waits until the daemon has closed the connection, without reading from it.
  func hangUp() async throws {
    let socket = socket
    try await onThread {
      var wanted = pollfd(fd: socket.descriptor.number, events: 0, revents: 0)
      // Invariant: poll() reads and writes one pollfd. poll() reports POLLHUP even if no event is requested.
      guard unsafe poll(&wanted, 1, 300_000) == 1 else { throw SystemError("wait for a hang-up", code: ETIMEDOUT) }
    }
  }

  /// Receives the next message.
  ///
  /// Returns an empty message if the daemon has closed the connection.
  func reply() async throws -> [String: JSONValue] {
    let (socket, begun) = (socket, rest.withLock { $0 })
    let (frame, rest) = try await onThread {
      var bytes = begun
      while !bytes.contains(0) {
        let more = try socket.receive()
        if more.isEmpty { return ([UInt8](), [UInt8]()) }
        bytes += more
      }
      let end = bytes.firstIndex(of: 0) ?? 0
      return (Array(bytes[..<end]), Array(bytes[(end + 1)...]))
    }
    self.rest.withLock { $0 = rest }
    if frame.isEmpty { return [:] }
    return try #require(JSONValue.members(of: frame, depth: 64, isStreamSafe: false))
  }
}

extension TestClient {
  /// Waits until crashd has stored everything about this test process.
  func awaitProcess() async throws -> [String: JSONValue] {
    let progress = try await call(
      "io.crashshield.Crashd.AwaitProcess", ["pid": .int(Int(getpid())), "timeout_ms": .int(600_000)])
    guard progress["settled"] == .bool(true) else { throw SystemError("await the process", code: ETIMEDOUT) }
    return progress
  }

  /// Waits until the daemon's store has this many reports.
  ///
  /// It reads the daemon's events, so it does not depend on a clock.
  func untilReports(_ count: Int) async throws {
    let events = try await TestClient(path: path)
    try await events.send("io.crashshield.Crashd.Subscribe", more: true)
    _ = try await events.reply()
    while try await call("io.crashshield.Crashd.Status").int("reports") != count {
      guard try await !events.reply().isEmpty else { throw SystemError("wait for reports", code: EPIPE) }
    }
  }

  /// Repeats a condition until it is true, for at most five minutes.
  ///
  /// The daemon's tasks can run between two calls of the condition.
  func until(_ condition: () async throws -> Bool) async throws {
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: .seconds(300))
    repeat {
      _ = try await call("io.crashshield.Crashd.AwaitProcess", ["pid": .int(1)])
      if try await condition() { return }
    } while clock.now < end
    throw SystemError("wait for the daemon", code: ETIMEDOUT)
  }
}
