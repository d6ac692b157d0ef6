import CrashReport
internal import Glibc
import LinuxSystem

/// Writes each crash into the systemd journal.
public struct JournalSink: Sink {
  /// The cursor's name.
  public let name = "journal"
  /// journald's socket.
  public var socketPath: String
  /// Whether an entry holds the whole report as `CRASH_REPORT`.
  public var includesReport: Bool
  /// Whether a second entry says the same as systemd-coredump would, for coredumpctl.
  public var imitatesCoredump: Bool

  private static let timeout_ms = 5_000

  /// A sink of this journal.
  public init(
    socketPath: String = "/run/systemd/journal/socket", includesReport: Bool = true, imitatesCoredump: Bool = false
  ) {
    (self.socketPath, self.includesReport, self.imitatesCoredump) = (socketPath, includesReport, imitatesCoredump)
  }

  /// Sends one entry, or both.
  public func deliver(_ event: SinkEvent) -> Delivery {
    let json: String?
    do { json = includesReport ? String(decoding: try event.json.encoded(), as: UTF8.self) : nil } catch {
      return .refused("it has no JSON form: \(error)")
    }
    var entries = [JournalEntry(event.report, json: json)]
    if imitatesCoredump { entries.append(JournalEntry(coredumpOf: event.report)) }
    for entry in entries {
      do throws(SystemError) { try send(entry.bytes) } catch {
        // A journald that starts, is full or is away: all of these pass.
        return .later("cannot write to '\(socketPath)': \(SystemError.text(error.code))")
      }
    }
    return .delivered
  }

  private func send(_ bytes: [UInt8]) throws(SystemError) {
    let journal = try DatagramSocket(socketPath, timeout_ms: Self.timeout_ms)
    var code = journal.send(bytes)
    // Too long for a datagram, or for the kernel's memory: journald takes a file that cannot change instead.
    if code == EMSGSIZE || code == ENOBUFS {
      let file = try MemoryFile()
      try file.write(bytes, at: 0)
      try file.seal(staysWritable: false)
      code = journal.send([UInt8](), [file.descriptor])
    }
    try SystemError.check(code, "send")
  }
}
