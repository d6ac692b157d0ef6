import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests that crashctl sets a guard's mode through crashd, and that clients receive the guard's incidents.
@Suite("Guard modes, end to end")
struct GuardModeTests {
  /// A guard-host process that is attached to crashd.
  private struct Host {
    var process: ChildProcess
    var ends: FileDescriptor

    static func start(in daemon: PrivateDaemon, mode: String) async throws -> Host {
      let (ours, theirs) = try FileDescriptor.pair()
      let process = try ChildProcess.start(
        Binaries.besideTests("guard-host"), [mode],
        ChildProcess.Options(environment: daemon.place.environment, input: theirs.number, output: theirs.number))
      let host = Host(process: process, ends: ours)
      try #require(try await host.line() == "attached")
      return host
    }

    func line() async throws -> String? { try await blocking { [ends] in try ends.readLine() } }

    /// Sends a command to the process and returns its answer.
    func asks(_ word: String) async throws -> String? {
      let line = Array((word + "\n").utf8)
      // Invariant: write() reads at most as many bytes as the array has.
      #expect(unsafe write(ends.number, line, line.count) == line.count)
      return try await self.line()
    }

    /// Makes a guarded operation fault, and returns the guard mode that the process applied.
    func fault() async throws -> String? {
      #expect(unsafe write(ends.number, "\n", 1) == 1)
      return try await line()
    }
  }

  private static func set(_ words: [String], _ daemon: PrivateDaemon) async throws -> String {
    try await DanglingTests.crashctl(
      ["guards", "set"] + words + ["--process", "guard-host", "--socket", daemon.place.varlinkSocket])
  }

  /// Repeats a crashctl command that sets a mode, until the process has applied the mode.
  ///
  /// On a slow machine, the process can answer after crashd's timeout. Setting the same mode again changes nothing
  /// more.
  private static func setUntilDone(_ words: [String], _ daemon: PrivateDaemon) async throws {
    for _ in 0..<Patience.slices {
      let said = try await set(words, daemon)
      if (1...2).contains(where: { said.contains("\($0) of \($0) attached processes") }) { return }
    }
    Issue.record("the process does not apply the override: \(words)")
  }

  @Test(
    "crashd sends the first process of a program no last crash, and the next process the crash of the first")
  func lastCrash() async throws {
    let daemon = try await PrivateDaemon.start()
    let first = try await Host.start(in: daemon, mode: "observe")
    #expect(try await first.asks("last-crash") == "none")
    first.process.signal(SIGSEGV)
    #expect(try await first.process.wait().signal == SIGSEGV)
    // The second process can attach before crashd has finished the report of the first process.
    let second = try await Host.start(in: daemon, mode: "observe")
    let told = try await second.asks("last-crash")
    let client = daemon.client
    let report = try #require(try await blocking { try client.list(ListQuery(limit: 1)).first })
    #expect(report.pid == Int(first.process.pid))
    #expect(told == "\(report.id) true \(report.sentence)")
    second.process.signal(SIGKILL)
    try await second.process.wait()
    try await daemon.stop()
  }

  @Test("a process is in the list of processes as soon as it knows that crashd has accepted it")
  func listed() async throws {
    try await PrivateDaemon.run { daemon in
      let client = daemon.client
      try await withThrowingTaskGroup { group in
        for _ in 0..<8 {
          group.addTask {
            let host = try await Host.start(in: daemon, mode: "observe")
            let pids = try await blocking { try client.processes().map(\.pid) }
            #expect(pids.contains(Int(host.process.pid)))
            host.process.signal(SIGKILL)
            try await host.process.wait()
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("crashctl doctor shows the result of a process's last guard self-test")
  func selfTest() async throws {
    try await PrivateDaemon.run { daemon in
      let client = daemon.client
      let host = try await Host.start(in: daemon, mode: "observe")
      func told() async throws -> ProcessSummary {
        let processes = try await blocking { try client.processes() }
        return try #require(processes.first { $0.pid == Int(host.process.pid) })
      }
      func doctor() async throws -> String {
        try await DanglingTests.crashctl(["doctor", "--socket", daemon.place.varlinkSocket, "\(host.process.pid)"])
      }
      #expect(try await told().selfTest == nil)
      #expect(try await doctor().contains("the program has not run a self-test"))

      #expect(try await host.asks("self-test") == "asked")
      let good = try #require(try await told().selfTest)
      #expect(good.checks > good.asked.count && good.asked.count > 20 && good.failures == 0 && good.failing.isEmpty)
      #expect(good.asked.contains("index") && !good.asked.contains("pipe"))
      let text = try await doctor()
      #expect(text.contains("(\(good.checks) checks of \(good.asked.count) kinds)"), "\(text)")

      #expect(try await host.asks("broken") == "asked")
      let broken = try #require(try await told().selfTest)
      #expect(broken.failing == ["gate"] && broken.failures == 1 && broken.checks == good.checks + 1)
      #expect(broken.asked == good.asked && broken.time > good.time)
      #expect(try await doctor().contains("1 of \(broken.checks) checks failed at"))
      // A self-test does not record its faults as incidents.
      #expect(try await blocking { try client.incidents(source: "guard") }.isEmpty)
      #expect(shutdown(host.ends.number, Int32(SHUT_WR)) == 0)
      #expect(try await host.process.wait().code == 0)
    }
  }

  @Test("an override of a guard mode reaches running and future processes, is listed, and ends when removed")
  func set() async throws {
    let daemon = try await PrivateDaemon.start()
    let socket = daemon.place.varlinkSocket
    // The program's own mode is `observe`. Without the override, the fault would end the process.
    let host = try await Host.start(in: daemon, mode: "observe")
    try await Self.setUntilDone(["index", "absorb"], daemon)
    #expect(try await host.fault() == "absorb")
    #expect(try await host.line() == "true")
    let list = try await DanglingTests.crashctl(["guards", "list", "--no-legend", "--socket", socket])
    #expect(list.contains("index") && list.contains("absorb") && list.contains("1/1"), "\(list)")
    #expect(!list.contains("unwrap"), "\(list)")
    let first = daemon.client
    // The incident arrives in the subscription, without a query.
    let absorbed = try await blocking { () throws in
      let stream = try first.followIncidents(IncidentFilter(source: "guard", since: "2020-01-01T00:00:00Z"))
      while let page = try stream.next(timeout: Patience.slice * Patience.slices) {
        if !page.incidents.isEmpty { return page.incidents }
      }
      return []
    }
    #expect(absorbed.map(\.mode) == ["absorb"] && absorbed.map(\.kind) == ["index"])

    // After a restart, crashd sends the override to a new process before the first fault of this process.
    try await daemon.stop()
    let next = try await PrivateDaemon.start(in: daemon.place)
    let second = try await Host.start(in: next, mode: "off")
    #expect(try await second.fault() == "absorb")
    #expect(try await second.line() == "true")

    // After the override is removed, the program's own mode applies again.
    let client = next.client
    try await Self.setUntilDone(["all", "program"], next)
    #expect(try await second.fault() == "off")
    #expect(try await second.process.wait().signal == trapSignal)
    // The crash report of the second process also lists the earlier fault, which the guard absorbed.
    let before = try #require(try await next.reports(of: second.process.pid).first?.incidents)
    #expect(before.map(\.kind) == ["index"] && before.map(\.mode) == ["absorb"] && before.map(\.count) == [1])
    #expect(before.first?.sentence.contains("guard_host/main.swift:") == true)
    #expect(try await blocking { try client.guardModes() }.allSatisfy { $0.modes.isEmpty && $0.implicitModes.isEmpty })
    let third = try await Host.start(in: next, mode: "observe")
    #expect(try await third.fault() == "observe")
    #expect(try await third.process.wait().signal == trapSignal)
    #expect(try await next.reports(of: third.process.pid).count == 1)
    let incidents = try await blocking { try client.incidents(source: "guard") }
    #expect(incidents.first { $0.process.pid == Int(third.process.pid) }?.mode == "observe")
    #expect(shutdown(host.ends.number, Int32(SHUT_WR)) == 0)
    #expect(try await host.process.wait().code == 0)
    try await next.stop()
  }
}
