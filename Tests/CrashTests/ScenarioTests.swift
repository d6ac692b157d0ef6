import CrashMaker
import CrashReport
import Testing

/// Every way to crash, through the whole path: handler, ring, crashd, symbols, store, client.
@Suite(.sharedDaemon, .serialized)
struct ScenarioTests {
  @Test("one report, with signal, reason, function and line", arguments: Scenario.all.map(\.name))
  func report(name: String) async throws {
    let scenario = try #require(Scenario.named(name))
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(name, ["--wait-attached"], environment: daemon.place.environment)
    #expect(crash.status.signal == (try Crasher.signalNumber(scenario.signal)), "\(crash.status): \(crash.error)")
    try check(try await daemon.reports(of: crash.pid), scenario)
  }

  @Test("the same from each kind of thread", arguments: ["dispatch", "task", "pthread"])
  func report(thread: String) async throws {
    let daemon = try SharedDaemon.current
    for name in ["array-index", "null-write", "abort"] {
      let scenario = try #require(Scenario.named(name))
      let crash = try await Crasher.run(
        name, ["--wait-attached", "--thread", thread], environment: daemon.place.environment)
      #expect(crash.status.signal == (try Crasher.signalNumber(scenario.signal)), "\(crash.status): \(crash.error)")
      try check(try await daemon.reports(of: crash.pid), scenario)
    }
  }

  @Test("an optimized program's report says as much")
  func optimized() async throws {
    guard let program = try Binaries.optimizedCrashMaker() else { return }
    let daemon = try SharedDaemon.current
    for scenario in Scenario.all where scenario.isReported {
      let crash = try await Crasher.run(
        scenario.name, ["--wait-attached"], environment: daemon.place.environment, program: program)
      try check(try await daemon.reports(of: crash.pid), scenario, isOptimized: true)
    }
  }

  @Test("what the program said of itself is in the report")
  func annotations() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("raise", ["--wait-attached", "--mark"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.annotations["scenario"] == "raise")
    #expect(report.annotations["fault-monotonic-ns"].flatMap { Int($0) } != nil)
    #expect(report.breadcrumbs.last?.text == "about to crash: raise")
    #expect(report.process.name == "crash-maker")
  }

  @Test("a signal from another process tells who sent it")
  func sender() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("kill-from-outside", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let sender = try #require(report.signal.sender)
    #expect(report.signal.code == 0)
    #expect(sender.pid != Int(crash.pid) && sender.pid > 0)
    #expect(sender.uid == report.process.uid)
  }

  @Test("a crash in a task shows who awaited it", arguments: ["debug", "optimized"])
  func asyncCallers(build: String) async throws {
    var program: String?
    if build == "optimized" {
      guard let optimized = try Binaries.optimizedCrashMaker() else { return }
      program = optimized
    }
    let daemon = try SharedDaemon.current
    let deep = try #require(Scenario.named("task-deep-async"))
    for (name, options, callers) in [
      ("array-index", ["--thread", "task"], ["runHandler", "handleRequest"]), (deep.name, [], deep.asyncCallers),
    ] {
      let crash = try await Crasher.run(
        name, ["--wait-attached"] + options, environment: daemon.place.environment, program: program)
      let thread = try #require(try await daemon.reports(of: crash.pid).first?.crashedThread)
      let asynchronous = thread.frames.filter(\.isAsync)
      var rest = asynchronous[...]
      for caller in callers {
        rest = rest.drop { !$0.function.contains(caller) }
        #expect(!rest.isEmpty, "\(name): \(caller) is not among the async callers, in order:\n\(thread.listing)")
      }
    }
  }

  /// Exactly one report, and it says what the scenario expects.
  private func check(
    _ reports: [CrashReport], _ scenario: Scenario, isOptimized: Bool = Binaries.areInstalled
  ) throws {
    let name = scenario.name
    // Of a precondition that failed an optimized program keeps no message.
    let reason = isOptimized && name == "precondition-message" ? "precondition failure" : scenario.reason
    guard scenario.isReported else {
      #expect(reports.isEmpty, "\(name)")
      return
    }
    #expect(reports.count == 1, "\(name)")
    let report = try #require(reports.first, "\(name)")
    let thread = try #require(report.crashedThread, "\(name)")
    #expect(report.signal.name == scenario.signal, "\(name)")
    #expect(report.threads.filter(\.crashed).count == 1, "\(name)")
    #expect(report.reason.contains(reason), "\(name): \(report.reason)")
    let top = try #require(thread.topOwnFrame, "\(name): no own frame in\n\(thread.listing)")
    #expect(top.function.contains(scenario.function), "\(name):\n\(thread.listing)")
    if let mark = try SourceMark.find(name, in: ["CrashMaker", "CCrashMaker"]) {
      let place = "\(top.file?.split(separator: "/").last ?? ""):\(top.line ?? 0)"
      #expect(place == mark.description, "\(name):\n\(thread.listing)")
    }
  }
}
