import CrashClient
import CrashProtocol
import Glibc
import LinuxSystem
import Testing

/// Tests that invalid messages of one process to the attach socket do not affect other processes.
@Suite(.sharedDaemon, .serialized)
struct HostileHelloTests {
  @Test(
    "a malformed first message (hello) is refused and counted, and the next crash is reported",
    arguments: [1, 16, 4_096, 100_000])
  func malformed(byteCount: Int) async throws {
    let daemon = try SharedDaemon.current
    let client = daemon.client
    let before = try await blocking { try client.status() }.refusals.values.reduce(0, +)
    let connection = try UnixSocket.make(SOCK_SEQPACKET)
    try #require(UnixAddress(path: daemon.place.runtime + "/attach")?.connect(connection.number) == 0)
    let noise = [UInt8](repeating: 0xa5, count: byteCount)
    #expect(unsafe send(connection.number, noise, noise.count, Int32(MSG_NOSIGNAL)) == byteCount)
    // crashd sends the reason why it refuses the message, and closes the connection. Therefore the stream ends after at
    // most one message.
    try await blocking {
      try connection.awaitInput()
      let reply = try connection.read(1_024)
      if !reply.isEmpty {
        #expect(try connection.read(1_024).isEmpty)
      }
    }
    let after = try await blocking { try client.status() }.refusals.values.reduce(0, +)
    #expect(after == before + 1)

    let crash = try await Crasher.run("array-index", ["--wait-attached"], environment: daemon.place.environment)
    #expect(try await daemon.reports(of: crash.pid).count == 1)
  }
}
