import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests use-after-frees end to end: from the process through crashd to crashctl.
@Suite("Use-after-free, end to end", .sharedDaemon)
struct DanglingTests {
  /// A scenario with a use-after-free.
  private static let scenario = "use-after-free-call"
  static let victim = "CrashMaker.SpecialBasket"

  @Test(
    "a process survives a use-after-free of a protected class; the incident has stacks of use and release with lines")
  func incident() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Crasher.run(
      Self.scenario, ["--wait-attached", "--protect", Self.victim], environment: daemon.place.environment)
    // Status EX_SOFTWARE (70) means that the process did not crash.
    #expect(run.status.code == 70, "\(run.status) \(run.error)")
    #expect(try await daemon.reports(of: run.pid).isEmpty)
    let client = daemon.client
    let incidents = try await blocking { try client.incidents(source: "quarantine") }
    let incident = try #require(incidents.first { $0.process.pid == Int(run.pid) })
    #expect(incident.kind == "call" && incident.subject == Self.victim && incident.confidence == "certain")
    #expect(incident.mode == "zero" && incident.count == 1)
    let use = try #require(incident.use.first { $0.isOwn })
    #expect(use.function.contains("faultUseAfterFreeCall"), "\(incident.use)")
    let mark = try SourceMark.find("use-after-free-call")
    #expect(use.file?.hasSuffix(mark.file) == true && use.line == mark.line)
    let object = try #require(incident.object)
    // In optimized code, the instruction of the release has no source line, so the incident shows a line near it.
    let release = try #require(
      object.release.first { $0.function.contains("faultUseAfterFreeCall") }, "\(object.release)")
    #expect(object.release.prefix { $0 != release }.allSatisfy { !$0.isOwn })
    if release.file?.hasSuffix(mark.file) == true, release.isLineApproximate != true {
      #expect(release.line.map { $0 < mark.line } == true)
    }
    #expect(object.thread == incident.useThread && object.age_ns >= 0)
  }

  @Test("S8: the incident of an async call of a freed object has the awaiting functions")
  func asyncCallers() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Crasher.run(
      "scenario", ["task-outlives", "attached-zero"], environment: daemon.place.environment,
      program: Binaries.besideTests("dangling-maker"))
    #expect(run.status.code == 0, "\(run.status) \(run.error)")
    _ = try await daemon.reports(of: run.pid)
    let client = daemon.client
    let incident = try await blocking {
      try #require(try client.incidents(source: "quarantine").first { $0.process.pid == Int(run.pid) })
    }
    #expect(incident.kind == "asyncCall" && incident.subject == "dangling_maker.Screen")
    let waiting = try #require(incident.use.first { $0.isOwn }, "\(incident.use)")
    #expect(waiting.function.contains("load(") && waiting.file?.hasSuffix("Scenario.swift") == true, "\(waiting)")
    #expect(incident.sentence.contains(" in load("), "\(incident.sentence)")
  }

  @Test("a crash by a use of a quarantined object causes a report and no incident")
  func held() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Crasher.run(
      "scenario", ["zero-array", "attached-diagnose"], environment: daemon.place.environment,
      program: Binaries.besideTests("dangling-maker"))
    #expect(run.status.signal == SIGSEGV, "\(run.status) \(run.error)")
    let report = try #require(try await daemon.reports(of: run.pid).first)
    #expect(report.diagnosis.cause == "dangling", "\(report.diagnosis)")
    // The list of incidents has only accesses that the process survived, so it lacks this one, which the report
    // contains.
    let client = daemon.client
    #expect(try await blocking { try client.incidents() }.allSatisfy { $0.process.pid != Int(run.pid) })
  }

  @Test("crashctl lists use-after-free incidents, and shows one with the stacks of use and release, or as JSON")
  func commands() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Crasher.run(
      Self.scenario, ["--wait-attached", "--protect", Self.victim], environment: daemon.place.environment)
    _ = try await daemon.reports(of: run.pid)
    let client = daemon.client
    let incident = try await blocking {
      let found = try client.incidents().first { $0.process.pid == Int(run.pid) }
      return try #require(found)
    }
    let list = try await Self.crashctl(["incidents", "--socket", daemon.place.varlinkSocket])
    #expect(list.contains(incident.sentence) && list.contains("COUNT"))
    let groups = try await Self.crashctl(["dangling", "--socket", daemon.place.varlinkSocket])
    #expect(groups.contains("HITS") && groups.contains("faultUseAfterFreeCall"), "\(groups)")
    let text = try await Self.crashctl(["incidents", "show", incident.id, "--socket", daemon.place.varlinkSocket])
    let parts = text.split(separator: "Last release", maxSplits: 1)
    #expect(parts.count == 2 && parts.allSatisfy { $0.contains("faultUseAfterFreeCall") }, "\(text)")
    let json = try await Self.crashctl(
      ["dangling", "show", incident.id, "--json", "short", "--socket", daemon.place.varlinkSocket])
    #expect(json.hasPrefix("{") && json.contains("\"subject\":\"\(Self.victim)\""))
  }

  @Test("a crash by a call on an evicted object is a probable use-after-free, with class and release stack")
  func evicted() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Crasher.run(
      "attached-freed", environment: daemon.place.environment, program: Binaries.besideTests("dangling-maker"))
    #expect(run.status.signal == SIGSEGV, "\(run.status) \(run.error)")
    let report = try #require(try await daemon.reports(of: run.pid).first)
    let diagnosis = report.diagnosis
    // A string now uses the object's memory, so only the object's freed-object record shows that it was freed, and the
    // diagnosis is not certain.
    #expect(diagnosis.cause == "dangling" && (0.8..<1).contains(diagnosis.confidence), "\(diagnosis)")
    #expect(diagnosis.className == "dangling_maker.Session", "\(diagnosis)")
    let object = try #require(report.guardedObject)
    #expect(object.className == "dangling_maker.Session" && object.age_ns.map { $0 >= 0 } == true)
    #expect(object.release.contains { $0.function.hasPrefix("drop()") }, "\(object.release.map(\.function))")
    #expect(report.crashedThread?.topOwnFrame?.function.hasPrefix("greet(") == true)
    // The list of incidents has only accesses that the process survived, so it lacks this one, which the report
    // contains.
    let client = daemon.client
    #expect(try await blocking { try client.incidents() }.allSatisfy { $0.process.pid != Int(run.pid) })
  }

  @Test("after a program crashed in a loop, crashd protects it; the program survives and records the release stack")
  func closedLoop() async throws {
    let daemon = try await PrivateDaemon.start(options: ["--automatic-protection"])
    let client = daemon.client
    var lives = 0
    var survivor: pid_t?
    while survivor == nil, lives < 20 {
      lives += 1
      let run = try await Crasher.run(Self.scenario, ["--wait-attached"], environment: daemon.place.environment)
      let reports = try await daemon.reports(of: run.pid)
      if run.status.code == 70 {
        #expect(reports.isEmpty)
        survivor = run.pid
        continue
      }
      #expect(run.status.signal == SIGSEGV && reports.map { $0.diagnosis.cause } == ["dangling"], "\(run.status)")
      guard lives == 1 else { continue }
      // By default, all crashes of a restart loop within an hour count as one crash. Therefore the test sets
      // `crashLoopSeconds` to 0.
      try await blocking {
        var rules = DanglingRules()
        rules.crashLoopSeconds = 0
        let change = try client.setRules(rules, name: "crash-maker")
        #expect(change.services == ["crash-maker"])
      }
    }
    let pid = try #require(survivor)
    let (incidents, events, policies) = try await blocking {
      (try client.incidents(), try client.danglingEvents(), try client.danglingPolicies(name: "crash-maker"))
    }
    let incident = try #require(incidents.first { $0.process.pid == Int(pid) })
    #expect(incident.subject == Self.victim && incident.mode == "zero")
    #expect(incident.object?.release.contains { $0.function.contains("faultUseAfterFreeCall") } == true)
    // crashd raises the level of protection if the program crashes more often than usual. This program had never
    // crashed before, so five crashes are enough.
    let decision = try #require(events.first { $0.decision.action == .switched }?.decision)
    #expect(decision.from == .base && decision.to == .raised && decision.text.contains("use-after-free crashes"))
    let policy = try #require(policies.first)
    #expect(policy.level == .raised && policy.days.map(\.crashes).reduce(0, +) == lives - 1)
    #expect(policy.includesOwnClasses || policy.classes.map(\.name) == [Self.victim])

    // crashd has stored its decision. Therefore the next crashd protects the program from the program's start.
    try await daemon.stop()
    let next = try await PrivateDaemon.start(in: daemon.place, options: ["--automatic-protection"])
    let again = try await Crasher.run(Self.scenario, ["--wait-attached"], environment: next.place.environment)
    #expect(again.status.code == 70, "\(again.status) \(again.error)")
    // The operator's override takes precedence over crashd's decision.
    let pinned = next.client
    try await blocking {
      var rules = DanglingRules()
      rules.pin = .off
      try pinned.setRules(rules, name: "crash-maker")
    }
    let off = try await Crasher.run(Self.scenario, ["--wait-attached"], environment: next.place.environment)
    #expect(off.status.signal == SIGSEGV)
    try await next.stop()
  }

  @Test("a running process survives a use-after-free of a class that the operator has protected")
  func running() async throws {
    let daemon = try await PrivateDaemon.start()
    let client = daemon.client
    let victim = try await Victim.start(Self.scenario, in: daemon)
    let change = try await blocking { try client.protect(class: Self.victim, name: "crash-maker") }
    #expect(change.services == ["crash-maker"] && change.processes == 1)
    // On a slow machine, the process can answer after crashd's timeout, and `applied` is 0. The loop then protects the
    // class again until crashd counts the process.
    var applied = change.applied
    for _ in 0..<Patience.slices where applied == 0 {
      applied = try await blocking { try client.protect(class: Self.victim, name: "crash-maker") }.applied
    }
    #expect(applied == 1)
    victim.goOn()
    let status = try await victim.process.wait()
    #expect(status.code == 70, "\(status)")
    #expect(try await daemon.reports(of: victim.process.pid).isEmpty)
    #expect(try await blocking { try client.incidents() }.map(\.subject) == [Self.victim])
    try await daemon.stop()
  }

  /// Runs crashctl and returns its output.
  ///
  /// Fails the test if the exit status is not `wanted`.
  static func crashctl(_ arguments: [String], status wanted: Int32 = 0) async throws -> String {
    let directory = try TestDirectory()
    let path = directory.path + "/output"
    let output = try FileDescriptor(
      unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open '\(path)'")
    let child = try ChildProcess.start(
      Binaries.path("crashctl"), arguments, ChildProcess.Options(output: output.number, errorPath: path))
    let status = try await child.wait()
    let text = try contents(of: path)
    #expect(status.code == wanted, "crashctl \(arguments): \(status): \(text)")
    return text
  }
}
