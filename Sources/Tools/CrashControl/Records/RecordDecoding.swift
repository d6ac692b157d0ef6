internal import CLinux
internal import CrashClient
public import CrashProtocol
internal import CrashRing
import Glibc
internal import LinuxSystem

/// Implements `decode`: analyzes the record lines in a log (crashes that processes printed as text) with a private
/// crashd.
///
/// The private crashd makes the same reports as the crashd that the processes could not reach.
public struct RecordDecoding: Sendable {
  private let path: String
  private let directories: [String]
  private let servers: [String]
  private let environment: [String: String]

  /// Prepares to decode a log.
  ///
  /// - Parameters:
  ///   - path: The log; `-` is standard input.
  ///   - directories: Directories with images or debug files, which are found by their build ids.
  ///   - servers: The URLs of debuginfod servers, which are asked for builds that are not on this machine.
  ///   - environment: The environment of crashd.
  public init(path: String, directories: [String], servers: [String], environment: [String: String]) {
    (self.path, self.directories, self.servers, self.environment) = (path, directories, servers, environment)
  }

  /// Calls `body` with each report, in the order of the log.
  ///
  /// If the log contains a record several times, `body` gets one report. A signal ends the work after the current
  /// record.
  /// - Throws: `Failure` if the log has no record, or crashd cannot be started.
  public func run(_ body: (ReceivedReport) throws(Failure) -> Void) throws(Failure) {
    // Open the log before the signals are blocked. Opening can block, and a signal must then end the process.
    var log = try RecordLog(path)
    let signals = SignalSet([SIGINT, SIGTERM, SIGHUP, SIGPIPE])
    let before = signals.block()
    defer {
      // decode() has already removed the temporary directories, so the process can end here. A pending SIGPIPE ends it
      // when install() unblocks this signal.
      if let signal = signals.pending(), signal != SIGPIPE { cs_process_die_by(signal) }
      before.install()
    }
    try decode(&log, body, until: { signals.pending() != nil })
  }

  private func decode(
    _ log: inout RecordLog, _ body: (ReceivedReport) throws(Failure) -> Void, until isStopped: () -> Bool
  ) throws(Failure) {
    var symbols = try RecordSymbols(directories: directories, servers: servers, environment: environment)
    guard let first = try log.next(until: isStopped) else { return try log.finish(count: 0) }
    let daemon = try PrivateDaemon.start(
      keep: false, environment: environment,
      options: ["--set", "symbol-directories=\(symbols.path)", "--set", "limits.symbol-wait=300s"])
    let client = daemon.client
    var (next, count): (LoggedRecord?, Int) = (first, 0)
    while let record = next {
      try symbols.find(record.contents.images, until: isStopped)
      if isStopped() { return }
      var report: ReceivedReport?
      do throws(ClientError) {
        let imported = try client.importRecord(record.text)
        if imported.isNew { report = try client.report(id: imported.id) }
        count += 1
      } catch {
        guard case .refused(.invalidRecord(let reason)) = error else { throw Failure(error) }
        log.refuse(line: record.line, because: reason)
      }
      if let report { try body(report) }
      next = try log.next(until: isStopped)
    }
    try log.finish(count: count)
  }
}
