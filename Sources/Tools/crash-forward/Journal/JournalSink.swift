import CrashReport
internal import Glibc
import LinuxSystem

/// Writes each crash into the systemd journal.
public struct JournalSink: Sink {
  /// The name of the sink's cursor.
  public let name = "journal"
  /// The path of journald's socket.
  public var socketPath: String
  /// Whether an entry contains the whole report as `CRASH_REPORT`.
  public var includesReport: Bool
  /// Whether to write a second entry, in the format of systemd-coredump, for coredumpctl.
  public var imitatesCoredump: Bool

  private static let timeout_ms = 5_000

  /// Creates a sink that writes to the given journal.
  public init(
    socketPath: String = "/run/systemd/journal/socket", includesReport: Bool = true, imitatesCoredump: Bool = false
  ) {
    (self.socketPath, self.includesReport, self.imitatesCoredump) = (socketPath, includesReport, imitatesCoredump)
  }

  /// Sends the entry of the crash, and if configured, the entry for coredumpctl.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let json: String?
    do { json = includesReport ? String(decoding: try event.json.encoded(), as: UTF8.self) : nil } catch {
      return .refused("cannot encode the report: \(error)")
    }
    var entries = [JournalEntry(event.report, json: json)]
    if imitatesCoredump { entries.append(JournalEntry(coredumpOf: event.report)) }
    for entry in entries {
      do throws(SystemError) { try send(entry.bytes) } catch {
        // Try again later, because journald can be starting, busy or stopped, and all these states are temporary.
        return .later("cannot write to '\(socketPath)': \(SystemError.text(error.code))")
      }
    }
    return .delivered
  }

  private func send(_ bytes: [UInt8]) throws(SystemError) {
    let journal = try DatagramSocket(socketPath, timeout_ms: Self.timeout_ms)
    var code = journal.send(bytes)
    // These errors mean that the entry is too long for a datagram, or that the kernel has no memory for the datagram.
    // Send the entry in a sealed memory file, which journald also accepts.
    if code == EMSGSIZE || code == ENOBUFS {
      let file = try MemoryFile()
      try file.write(bytes, at: 0)
      try file.seal(staysWritable: false)
      code = journal.send([UInt8](), [file.descriptor])
    }
    try SystemError.check(code, "send")
  }
}
