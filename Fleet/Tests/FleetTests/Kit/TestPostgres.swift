import FleetStore
import Foundation
import Synchronization

/// A private PostgreSQL on a Unix socket in a temporary directory.
///
/// It ends whenever this process ends: its shell reads from a pipe whose write end only this process has.
final class TestPostgres: Sendable {
  /// The server that most tests share.
  ///
  /// Each test has its own database.
  static let shared = Mutex<TestPostgres?>(nil)

  let directory: String
  private let process: Mutex<Process>
  private let databases = Mutex(0)

  struct Problem: Error { var text: String }

  private init() throws {
    directory = try Self.run("mktemp", ["-d", "/tmp/crash-fleet-tests.XXXXXX"]).trimmingCharacters(in: .newlines)
    _ = try Self.run("chmod", ["755", directory])
    if getuid() == 0 { _ = try Self.run("chown", ["65534", directory]) }
    _ = try Self.run(
      "sh", ["-c", "\(Self.asUser) \(Self.binaries)/initdb -D '\(directory)/data' -U postgres -A trust --no-sync"])
    process = Mutex(try Self.start(directory))
  }

  /// Waits at most a minute for something that another process does without an event: a commit, a lock or a
  /// subscription.
  static func wait(for what: String, _ isDone: () throws -> Bool) async throws {
    for _ in 0..<1200 {
      if try isDone() { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Problem(text: "\(what) did not happen")
  }

  /// Returns the connection string of a new database on the shared server.
  static func database() throws -> String {
    let server = try shared.withLock { server in
      if let server { return server }
      let new = try TestPostgres()
      server = new
      return new
    }
    let number = server.databases.withLock { count in
      count += 1
      return count
    }
    _ = try server.psql("postgres", "create database test\(number)")
    return "host=\(server.directory) user=postgres dbname=test\(number)"
  }

  /// The directory of the newest installed PostgreSQL.
  private static let binaries: String = {
    let base = "/usr/lib/postgresql"
    // Without the directory, initdb fails and names its path.
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
    return "\(base)/\(versions.compactMap(Int.init).max() ?? 15)/bin"
  }()

  /// PostgreSQL refuses to run as root, so root runs it as an unprivileged user.
  private static let asUser =
    getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups --reset-env" : ""

  /// Starts the server, and waits until it accepts connections.
  private static func start(_ directory: String) throws -> Process {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let options = "-c listen_addresses='' -c unix_socket_directories='\(directory)' -c fsync=off -c max_connections=200"
    process.arguments = [
      "-c",
      """
      control() { \(asUser) \(binaries)/pg_ctl -D '\(directory)/data' -w -s "$@"; }
      control -l '\(directory)/log' -o "\(options)" start </dev/null || exit
      echo ready
      read -r end
      control -m immediate stop
      rm -rf '\(directory)'
      """,
    ]
    (process.standardInput, process.standardOutput) = (Pipe(), output)
    try process.run()
    guard String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n" else {
      throw Problem(text: "PostgreSQL does not start; see \(directory)/log")
    }
    return process
  }

  @discardableResult
  func psql(_ database: String, _ sql: String) throws -> String {
    try Self.run(
      "\(Self.binaries)/psql", ["-h", directory, "-U", "postgres", "-X", "-q", "-A", "-t", "-c", sql, database])
  }

  /// Runs SQL in the database of a connection string.
  static func query(_ connection: String, _ sql: String) throws -> String {
    try run("\(binaries)/psql", ["-X", "-q", "-A", "-t", "-c", sql, connection]).trimmingCharacters(in: .newlines)
  }

  /// A session with an open transaction.
  struct Session {
    fileprivate let process = Process()
    fileprivate let input = Pipe()

    /// Ends the transaction with the session.
    func end() throws {
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
  }

  /// Runs SQL in a session that stays open, and returns after its last statement.
  static func session(_ connection: String, _ sql: String) throws -> Session {
    let (session, output) = (Session(), Pipe())
    session.process.executableURL = URL(fileURLWithPath: "\(binaries)/psql")
    session.process.arguments = ["-X", "-q", "-A", "-t", connection]
    (session.process.standardInput, session.process.standardOutput) = (session.input, output)
    try session.process.run()
    try session.input.fileHandleForWriting.write(contentsOf: Data("\(sql)\n\\echo ready\n".utf8))
    var text = ""
    while !text.contains("ready") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { throw Problem(text: "psql: \(text)") }
      text += String(decoding: more, as: UTF8.self)
    }
    return session
  }

  static func run(_ command: String, _ arguments: [String]) throws -> String {
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: command.hasPrefix("/") ? command : "/usr/bin/env")
    process.arguments = command.hasPrefix("/") ? arguments : [command] + arguments
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let problem = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Problem(text: "\(command): \(problem)") }
    return text
  }
}

/// A store whose database belongs to one test and has the newest schema.
struct TestStore: Sendable {
  let store: FleetStore
  let connection: String
  let tenant: Int32

  init(connections: Int = 4) async throws {
    connection = try TestPostgres.database()
    var configuration = FleetStore.Configuration(connection: connection)
    configuration.connections = connections
    store = FleetStore(configuration)
    _ = try await store.migrate()
    _ = try await store.addToken(tenant: "shop", name: "test")
    tenant = try await store.tenant(named: "shop") ?? 0
  }

  func ingest(_ items: [IngestItem]) async throws -> [IngestOutcome] {
    try await store.ingest(items, tenant: tenant, now_us: Sample.now_us)
  }

  func query(_ sql: String) throws -> String { try TestPostgres.query(connection, sql) }

  /// Returns the sum of the crashes in each table that counts crashes.
  ///
  /// The sums are equal until retention removes hours.
  func sums() throws -> [String] {
    try query(
      """
      select string_agg(coalesce(sum, 0)::text, ' ') from (
        select sum(crashes) sum from counter union all select sum(crashes) from alias_hour
        union all select sum(crashes) from alias_hour_sum union all select sum(crashes) from alias_build
        union all select sum(crashes) from alias_host union all select sum(crashes) from program_hour
        union all select sum(crashes) from issue) s
      """
    ).split(separator: " ").map(String.init)
  }

  /// Whether each table has this sum of crashes.
  func hasSum(_ crashes: Int) throws -> Bool { try sums() == Array(repeating: "\(crashes)", count: 7) }
}
