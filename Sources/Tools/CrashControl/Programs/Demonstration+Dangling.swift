internal import CrashClient
import CrashProtocol
internal import CrashReport

/// Implements `demo dangling`: restarts a program that crashes by a use-after-free until crashd protects the class.
extension Demonstration {
  private static let victim = "use-after-free-call"
  private static let mostLives = 20

  /// Restarts the crashing program until crashd protects its class.
  ///
  /// When crashd protects the class, the program survives, and its incident is printed.
  /// - Throws: `Failure` when crashd or crash-maker cannot be started, or the program is not protected in time.
  public func runDangling() throws { try run(showDangling) }

  private func showDangling(until signals: SignalSet) throws {
    let daemon = try PrivateDaemon.start(keep: false, environment: environment, options: ["--automatic-protection"])
    let client = daemon.client
    try Output.write(
      heading("A program has a use-after-free")
        + "It does not protect the class, but its operator enables crashd to do so (crashd --automatic-protection).\n\n"
    )
    for life in 1...Self.mostLives {
      let (pid, reports) = try crash(Self.victim, daemon)
      if signals.pending() != nil { return }
      guard let id = reports.first else {
        return try showSurvivor(life, try incident(of: pid, client), client)
      }
      let report = try ask { () throws(ClientError) in try client.report(id: id) }.report
      try Output.write(
        "Run \(life) ends by \(CleanText.line(report.signal.name)): \(CleanText.line(report.diagnosis.sentence))\n")
      if life == 1 { try countEveryCrash(client) }
      try tellDecision(client)
    }
    throw Failure(.nothingFound, "crashd did not protect the program within \(Self.mostLives) runs")
  }

  /// Makes crashd count every restart.
  ///
  /// By default, crashd counts all crashes of a restart loop within one hour as one crash, which is too slow for a
  /// demo.
  private func countEveryCrash(_ client: CrashClient) throws {
    var rules = DanglingRules()
    rules.crashLoopSeconds = 0
    _ = try ask { () throws(ClientError) in try client.setRules(rules, name: "crash-maker") }
    try Output.write("(For the demo crashd counts each restart: crashctl dangling policy crash-maker --crash-loop 0)\n")
  }

  private func tellDecision(_ client: CrashClient) throws {
    let events = try ask { () throws(ClientError) in try client.danglingEvents(limit: 1) }
    guard let event = events.first, event.decision.action == .switched else { return }
    try Output.write("\n" + terminal.styled("crashd: ", .bold) + CleanText.line(event.decision.text) + "\n\n")
  }

  private func incident(of pid: Int, _ client: CrashClient) throws -> IncidentReport {
    let incidents = try ask { () throws(ClientError) in try client.incidents(source: .quarantine) }
    guard let incident = incidents.first(where: { $0.process.pid == pid }) else {
      throw Failure(.nothingFound, "process \(pid) neither crashed nor recorded a use-after-free")
    }
    return incident
  }

  private func showSurvivor(_ life: Int, _ incident: IncidentReport, _ client: CrashClient) throws {
    try Output.write("Run \(life) survives, and its incident has the stacks of the access and the last release:\n\n")
    try Output.write(IncidentText.text(incident, terminal: terminal) + "\n")
    let policies = try ask { () throws(ClientError) in try client.danglingPolicies() }
    for policy in policies {
      try Output.write(DanglingText.policy(policy, events: [], terminal: terminal))
    }
  }
}
