import CrashProtocol
import CrashStore
import FoundationEssentials
import GRDB
import LinuxSystem
import Logging
import Synchronization
import TestKit

@testable import CrashDaemon

/// A daemon that belongs to one test and has its own directories.
final class TestDaemon: Sendable {
  let directories: Directories
  let log: TestLog
  private let directory: TestDirectory
  private let daemon: Daemon

  var store: ReportStore { daemon.analysis.store }
  var hub: EventHub { daemon.analysis.hub }
  var analysis: CrashAnalysis { daemon.analysis }

  /// Runs a daemon while `body` runs.
  static func run(
    limits: Limits = .patient, analysePath: String = "/nowhere", prepare: (Directories) throws -> Void = { _ in },
    configure: (inout DaemonConfiguration) -> Void = { _ in }, _ body: (TestDaemon) async throws -> Void
  ) async throws {
    try await TestPlaces.daemons.occupy {
      let test = try TestDaemon(
        TestDirectory(), limits: limits, analysePath: analysePath, prepare: prepare, configure: configure)
      try await test.run(body)
    }
  }

  /// Creates a daemon that listens, but does not run yet.
  init(
    _ directory: TestDirectory, limits: Limits = .patient, analysePath: String = "/nowhere",
    prepare: (Directories) throws -> Void = { _ in }, configure: (inout DaemonConfiguration) -> Void = { _ in }
  ) throws {
    self.directory = directory
    directories = Directories(runtime: "\(directory.path)/r", state: "\(directory.path)/s")
    let log = TestLog()
    self.log = log
    try directories.make()
    try prepare(directories)
    var configuration = DaemonConfiguration(
      directories: directories, analysePath: analysePath, handlesSignals: false)
    configuration.settings.limits = limits
    // Disables retention, because the reports of tests can have any time, and the free space on the machine's disk must
    // not affect a test.
    configuration.settings.retention.age_s = Int.max
    configuration.settings.retention.history_s = Int.max
    configuration.settings.retention.reportsPerGroup = Int.max
    configuration.settings.retention.keepFreeBytes = 0
    configure(&configuration)
    daemon = try Daemon(configuration, logger: log.logger)
  }

  func run(_ body: (TestDaemon) async throws -> Void) async throws {
    let daemon = daemon
    let running = Task { try await daemon.run() }
    do {
      // Waits for a reply, because only a running daemon can be stopped.
      _ = try await client().call("io.crashshield.Crashd.Status")
      try await body(self)
    } catch {
      await daemon.stop()
      try await running.value
      throw error
    }
    await daemon.stop()
    try await running.value
  }

  func client(as user: TestUser? = nil) async throws -> TestClient {
    try await TestClient(path: directories.varlinkSocket, as: user)
  }

  func attach(as user: TestUser? = nil) async throws -> TestProcess {
    try await TestProcess(path: directories.attachSocket, as: user)
  }

  /// Overwrites the stored report with invalid JSON.
  func spoil(_ id: String) throws { try change("UPDATE reports SET json = '{' WHERE id = ?", [id]) }

  /// Changes the database directly, and not through the daemon.
  func change(_ sql: String, _ arguments: StatementArguments = []) throws {
    let database = try DatabaseQueue(path: "\(directories.state)/reports.sqlite")
    try database.write { try $0.execute(sql: sql, arguments: arguments) }
  }

  /// Returns the numbers of refusals, as Status reports them.
  func refusals() async throws -> [String: JSONValue] {
    try await client().call("io.crashshield.Crashd.Status").object("refusals")
  }
}

extension Limits {
  /// The limits of crashd, with longer times, because the machine can stall during a test.
  static var patient: Limits {
    var limits = Limits()
    limits.greeting_ms = 600_000
    limits.write_ms = 600_000
    limits.collector_ms = 600_000
    limits.control_ms = 600_000
    limits.imageLook_ms = 600_000
    limits.symbolJob_ms = 600_000
    limits.hastySymbolJob_ms = 600_000
    limits.unwind_ms = 600_000
    limits.unwindTables_ms = 600_000
    limits.judgeNames_ms = 600_000
    limits.scope_ms = 600_000
    return limits
  }
}

/// Collects the lines of a log.
final class TestLog: LogHandler {
  private let kept = Mutex<[String]>([])

  /// A logger that discards its lines.
  static var logger: Logger { Logger(label: "test") { _ in TestLog() } }

  /// A logger that writes to this log.
  var logger: Logger { Logger(label: "test") { _ in self } }

  var lines: [String] { kept.withLock { $0 } }
  func contains(_ text: String) -> Bool { lines.contains { $0.contains(text) } }

  var logLevel: Logger.Level {
    get { .info }
    set { _ = newValue }
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set { _ = newValue }
  }
  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set { _ = newValue }
  }

  func log(event: LogEvent) {
    kept.withLock { $0.append("\(event.level): \(event.message)") }
  }
}

/// Runs blocking work on a separate thread, because the daemon's tasks need the threads of Swift's cooperative pool.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    do {
      try Thread.start(named: "test") { continuation.resume(with: Result { try body() }) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}

extension [String: JSONValue] {
  func object(_ name: String) -> [String: JSONValue] {
    if case .object(let value) = self[name] { value } else { [:] }
  }

  func string(_ name: String) -> String? {
    if case .string(let value) = self[name] { value } else { nil }
  }

  func int(_ name: String) -> Int? {
    if case .int(let value) = self[name] { value } else { nil }
  }

  func array(_ name: String) -> [JSONValue] {
    if case .array(let value) = self[name] { value } else { [] }
  }
}
