import CLinux
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

  private static let timeout_ms: UInt32 = 5_000

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
      let code = send(entry.bytes)
      // A journald that starts, is full or is away: all of these pass.
      guard code == 0 else { return .later("cannot write to '\(socketPath)': \(SystemError.text(code))") }
    }
    return .delivered
  }

  private func send(_ bytes: [UInt8]) -> Int32 {
    var form = CS_DATAGRAM_PLAIN
    // The call reads as many bytes as the array has, and writes one word.
    return unsafe cs_datagram_send(socketPath, bytes, bytes.count, "crash-report", Self.timeout_ms, &form)
  }
}
