import FleetStore
import Foundation
import Testing

/// Tests a fleet with real crashd and crash-forward processes.
///
/// Needs the programs of the root package, in the directory `CRASHSHIELD_BINARIES`.
@Suite("End to end", .enabled(if: ProcessInfo.processInfo.environment["CRASHSHIELD_BINARIES"] != nil))
struct EndToEndTests {
  /// A crashd, and a crash-forward that sends its reports to a fleet.
  private final class Host {
    let directory: String
    private let binaries = ProcessInfo.processInfo.environment["CRASHSHIELD_BINARIES"] ?? ""
    private var crashd = Process()
    private var forward = Process()
    private let environment: [String: String]

    /// A host with a token of a fleet.
    convenience init(_ fleet: FleetProcess) async throws {
      try await self.init([
        "CRASH_FORWARD_FLEET_URL": "http://127.0.0.1:\(fleet.port)", "CRASH_FORWARD_FLEET_TOKEN": fleet.token,
      ])
    }

    /// `access` are the settings of crash-forward for the access to the fleet.
    init(_ access: [String: String]) async throws {
      directory = try TestPostgres.run("mktemp", ["-d", "/tmp/crash-fleet-host.XXXXXX"])
        .trimmingCharacters(in: .newlines)
      environment = [
        "CRASHD_SOCKET": "\(directory)/run/io.crashshield.Crashd", "CRASHSHIELD_SOCKET": "\(directory)/run/attach",
        "SWIFT_BACKTRACE": "enable=no", "PATH": "/usr/bin:/bin",
      ].merging(access) { $1 }
      let errors = Pipe()
      crashd = try start(
        "crashd", ["--runtime-directory", "\(directory)/run", "--state-directory", "\(directory)/state"],
        errors: errors)
      var text = ""
      while !text.contains("listening") {
        let more = errors.fileHandleForReading.availableData
        guard !more.isEmpty else { throw FleetProcess.Problem(text: "crashd does not listen: \(text)") }
        text += String(decoding: more, as: UTF8.self)
      }
      // Read the rest of the output, so that crashd never waits because the pipe is full.
      errors.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
      try await startForward()
    }

    deinit {
      forward.terminate()
      crashd.terminate()
      crashd.waitUntilExit()
      // Ignore an error, because a directory that stays in /tmp must not fail a test.
      try? FileManager.default.removeItem(atPath: directory)
    }

    func startForward(_ settings: [String: String] = [:]) async throws {
      forward = try start("crash-forward", ["--config", "/dev/null"], settings)
      // Wait for the subscription, because a new subscriber receives only later crashes.
      try await TestPostgres.wait(for: "a subscription of crash-forward") {
        // Without any subscriber, the command fails.
        (try? control(["subscribers", "--json=short"]))?.contains("crash-forward.fleet") == true
      }
    }

    func killForward() {
      kill(forward.processIdentifier, SIGKILL)
      forward.waitUntilExit()
    }

    /// Starts a program that waits, and returns it with its input when it is attached.
    func attach(_ scenario: String) throws -> (process: Process, input: Pipe) {
      let (input, output) = (Pipe(), Pipe())
      let process = try start(
        "crash-maker", [scenario, "--wait-attached", "--wait-input"], input: input, output: output)
      let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      guard text == "attached\n" else { throw FleetProcess.Problem(text: "crash-maker did not attach: \(text)") }
      return (process, input)
    }

    func crash(_ scenario: String) throws {
      let process = try start("crash-maker", [scenario, "--wait-attached"])
      process.waitUntilExit()
    }

    private func start(
      _ program: String, _ arguments: [String], _ settings: [String: String] = [:], input: Pipe? = nil,
      output: Pipe? = nil, errors: Pipe? = nil
    ) throws -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "\(binaries)/\(program)")
      (process.arguments, process.environment) = (arguments, environment.merging(settings) { $1 })
      process.standardInput = input ?? FileHandle.nullDevice
      process.standardOutput = output ?? FileHandle.nullDevice
      process.standardError = errors ?? FileHandle.nullDevice
      try process.run()
      return process
    }

    func control(_ arguments: [String]) throws -> String {
      try TestPostgres.run("\(binaries)/crashctl", arguments + ["--socket", environment["CRASHD_SOCKET"] ?? ""])
    }
  }

  @Test("a fault in a process becomes one row of the fleet, also across restarts of the forwarder")
  func faults() async throws {
    let fleet = try await FleetProcess()
    let host = try await Host(fleet)
    func waitForCrashes(_ count: Int) async throws {
      try await TestPostgres.wait(for: "the commit of \(count) crashes") {
        try fleet.test.query("select coalesce(sum(crashes), 0) from issue") == "\(count)"
      }
    }
    try host.crash("array-index")
    try host.crash("force-unwrap")
    try await waitForCrashes(2)
    #expect(try fleet.test.query("select count(*) from report") == "2")
    #expect(try fleet.test.query("select count(distinct alias) from report") == "2")
    #expect(try fleet.test.query("select distinct signal from report") == "SIGILL")
    #expect(
      try fleet.test.query(
        "select (convert_from(body, 'UTF8')::json)->'annotations'->>'scenario' from report order by 1")
        == "array-index\nforce-unwrap")
    host.killForward()
    try host.crash("array-index")
    try await host.startForward()
    try await waitForCrashes(3)
    host.killForward()
    // The new forwarder receives the crash only once, whatever the killed one has acknowledged.
    try await host.startForward()
    try host.crash("force-unwrap")
    try await waitForCrashes(4)
    #expect(try fleet.test.hasSum(4))
  }

  @Test("a host protects a class for which an operator of the fleet asks only if its own setting allows it")
  func protection() async throws {
    let fleet = try await FleetProcess()
    let (store, tenant) = (fleet.test.store, fleet.test.tenant)
    let host = try await Host(fleet)
    let victim = try host.attach("use-after-free-call")
    defer { victim.process.terminate() }
    let name = "CrashMaker.SpecialBasket"
    let ask = try await store.askForProtection(program: "crash-maker", className: name, tenant: tenant, days: 1)
    func waitForAnswer(_ outcome: String) async throws {
      var crashes = 0
      while try await store.asks(tenant: tenant).first?.answers[outcome] == nil, crashes < 20 {
        let stored = try fleet.test.query("select coalesce(sum(crashes), 0) from issue")
        try host.crash("array-index")
        crashes += 1
        try await TestPostgres.wait(for: "the commit of a crash") {
          try fleet.test.query("select coalesce(sum(crashes), 0) from issue") != stored
        }
      }
      #expect(try await store.asks(tenant: tenant).map(\.answers) == [[outcome: 1]])
    }
    try await waitForAnswer("refused")
    func policies() throws -> String { try host.control(["varlink", "call", "DanglingPolicies", "{}"]) }
    #expect(try !policies().contains(name))
    host.killForward()
    try await host.startForward(["CRASH_FORWARD_FLEET_ALLOW_PROTECTION": "true"])
    try await waitForAnswer("protected")
    #expect(try policies().contains(name))
    #expect(try fleet.test.query("select string_agg(ask::text, ',') from ask_answer") == "\(ask)")
  }

  @Test("a host sends the next report of an issue whole when an operator asks for it")
  func ask() async throws {
    let fleet = try await FleetProcess()
    let host = try await Host(fleet)
    var crashes = 0
    func crash() async throws {
      try host.crash("array-index")
      crashes += 1
      try await TestPostgres.wait(for: "the commit of \(crashes) crashes") {
        try fleet.test.query("select coalesce(sum(crashes), 0) from issue") == "\(crashes)"
      }
    }
    for _ in 0..<4 { try await crash() }
    let issue = try #require(Int64(try fleet.test.query("select id from issue")))
    let ask = try #require(try await fleet.test.store.askForReport(issue: issue, tenant: fleet.test.tenant, days: 1))
    // The service caches for some seconds that there are no asks. The host receives this ask with the response to a
    // later batch.
    while try await fleet.test.store.asks(tenant: fleet.test.tenant).first?.answers["sent"] == nil, crashes < 20 {
      try await crash()
    }
    #expect(try await fleet.test.store.asks(tenant: fleet.test.tenant).map(\.ask.id) == [ask])
    try await crash()
    #expect(try fleet.test.query("select outcome, count(*) from ask_answer group by 1") == "sent|1")
    // Without an ask, the host sends the first three reports whole, and then one for each hour of its clock.
    let hours = try fleet.test.query("select count(distinct hour) from counter")
    if hours == "1" { #expect(try fleet.test.query("select count(*) from report") == "4") }
  }

  @Test("crash-forward with a client certificate and without a token sends to the tenant of the certificate")
  func certificate() async throws {
    let authority = try TestAuthority()
    let (server, client) = (try authority.issue("server", isServer: true), try authority.issue("web-1"))
    let fleet = try await FleetProcess([
      "CRASH_FLEET_TLS_CERTIFICATE": server.certificate, "CRASH_FLEET_TLS_KEY": server.key,
      "CRASH_FLEET_TLS_CLIENT_CA": authority.file, "CRASH_FLEET_TLS_REQUIRE_CLIENT_CERTIFICATE": "true",
    ])
    let added = try FleetProcess.run(
      ["token", "add", "mail", "--certificate", client.certificate], on: fleet.test.connection)
    #expect(added.status == 0, "\(added.output)")
    let host = try await Host([
      "CRASH_FORWARD_FLEET_URL": "https://127.0.0.1:\(fleet.port)", "CRASH_FORWARD_CA_FILE": authority.file,
      "CRASH_FORWARD_FLEET_CERTIFICATE_FILE": client.certificate, "CRASH_FORWARD_FLEET_KEY_FILE": client.key,
    ])
    try host.crash("array-index")
    try await TestPostgres.wait(for: "the commit of a crash") {
      try fleet.test.query(
        "select string_agg(t.name, ' ') from issue i join tenant t on t.id = i.tenant where crashes = 1") == "mail"
    }
  }
}
