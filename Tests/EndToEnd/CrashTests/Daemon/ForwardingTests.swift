import CrashClient
import CrashProtocol
import CrashReport
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

/// Tests that crashd forwards the event of a crash to a collector.
@Suite
struct ForwardingTests {
  /// The fields of a forwarded event that this test reads.
  private struct Line: Decodable {
    var cursor: String
    var id: String
    var report: CrashReport
  }

  /// A listening socket to which crashd connects.
  private final class Collector: Sendable {
    private let listener: FileDescriptor

    init(path: String) throws {
      listener = try FileDescriptor(
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0), from: "socket")
      let number = listener.number
      guard UnixAddress(path: path)?.bind(number) == 0, listen(number, 8) == 0 else {
        throw SystemError("listen at '\(path)'", errno)
      }
    }

    func accept() async throws -> Connection {
      let listener = listener
      return try await blocking {
        try listener.awaitInput()
        return Connection(try FileDescriptor(Glibc.accept(listener.number, nil, nil), from: "accept"))
      }
    }
  }

  private final class Connection: Sendable {
    private let descriptor: FileDescriptor
    private let rest = Mutex<[UInt8]>([])

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    func line() async throws -> Line {
      let (descriptor, begun) = (descriptor, rest.withLock { $0 })
      let (line, more) = try await blocking {
        var bytes = begun
        while true {
          if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            return (Array(bytes[..<end]), Array(bytes[(end + 1)...]))
          }
          try descriptor.awaitInput()
          let piece = try descriptor.read(65_536)
          guard !piece.isEmpty else { throw SystemError("read a line", EPIPE) }
          bytes += piece
        }
      }
      rest.withLock { $0 = more }
      return try JSONDecoder().decode(Line.self, from: Data(line))
    }

    func acknowledge(_ line: Line) {
      let bytes = Array("{\"ack\":\"\(line.cursor)\"}\n".utf8)
      // Invariant: write() reads at most as many bytes as the array has.
      #expect(unsafe Glibc.write(descriptor.number, bytes, bytes.count) == bytes.count)
    }
  }

  private func write(_ text: String, to path: String) throws {
    let file = try FileDescriptor(unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600), from: "open '\(path)'")
    let bytes = Array(text.utf8)
    // Invariant: write() reads at most as many bytes as the array has.
    guard unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
      throw SystemError("write '\(path)'", errno)
    }
  }

  private func crash(in daemon: PrivateDaemon) async throws -> pid_t {
    let victim = try await Victim.start("array-index", in: daemon)
    victim.goOn()
    _ = try await victim.process.wait()
    return victim.process.pid
  }

  @Test("crashd sends a scrubbed report until the collector acknowledges it, also after a SIGKILL of crashd")
  func acknowledged() async throws {
    let place = try PrivateDaemon.Place()
    let (config, socket) = (place.root.path + "/crashd.yaml", place.root.path + "/collector")
    let metrics = place.root.path + "/crashd.prom"
    let text = """
      forward: [{path: \(socket), acknowledge: true}]
      limits: {collector-timeout: 1h}
      privacy: {patterns: ['Index out of range']}
      metrics: {file: \(metrics), interval: 1s}
      """
    try write(text, to: config)
    let collector = try Collector(path: socket)
    var daemon = try await PrivateDaemon.start(in: place, options: ["--config", config])
    do {
      let first = try await crash(in: daemon)
      // Keep this connection open until its crashd process has ended. Otherwise the same crashd would connect again,
      // and the next accept() would return that connection.
      let connection = try await collector.accept()
      let line = try await connection.line()
      #expect(line.report.process.pid == Int(first) && line.report.id == line.id)
      #expect(line.report.reason.contains("[scrubbed]") && !line.report.reason.contains("Index out of range"))
      let kept = try await blocking { [client = daemon.client] in try client.report(id: line.id).report }
      #expect(kept.reason.contains("Index out of range"))

      try await daemon.kill()
      withExtendedLifetime(connection) {}
      daemon = try await PrivateDaemon.start(in: place, options: ["--config", config])
      let other = try await collector.accept()
      let again = try await other.line()
      #expect(again.id == line.id)
      other.acknowledge(again)
      try await self.awaitCount(in: metrics, below: place.root.path)

      try await daemon.stop()
      withExtendedLifetime(other) {}
      daemon = try await PrivateDaemon.start(in: place, options: ["--config", config])
      let second = try await crash(in: daemon)
      let third = try await collector.accept()
      // crashd also sends an event when it adds something to a report, so more events of the first crash can precede
      // the event of the second crash. crashd must not send an event again that the collector has acknowledged.
      var next = again
      while next.report.process.pid != Int(second) {
        next = try await third.line()
        #expect(next.cursor != again.cursor)
        third.acknowledge(next)
      }
    } catch {
      // kill() can fail, because the daemon may already have been reaped. Throw the error that was caught here, even if
      // kill() fails.
      try? await daemon.kill()
      throw error
    }
    try await daemon.stop()
  }

  /// Waits until the metrics file counts an acknowledged event.
  ///
  /// crashd writes a new file each second, and renames it to the metrics file.
  private func awaitCount(in metrics: String, below directory: String) async throws {
    let renames = try FileDescriptor(inotify_init1(Int32(IN_CLOEXEC)), from: "inotify_init1")
    // The watch starts before the first read, so that it misses no rename.
    guard unsafe inotify_add_watch(renames.number, directory, UInt32(IN_MOVED_TO)) >= 0 else {
      throw SystemError("watch '\(directory)'", errno)
    }
    try await blocking {
      try Patience.wait(for: "crashd did not count the event") { _ -> Void? in
        let text = (try? contents(of: metrics)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("crashd_forward_events_total{") }
        if let line, !line.hasSuffix(" 0") { return () }
        try renames.awaitInput()
        _ = try renames.read(65_536)
        return nil
      }
    }
  }
}
