import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import TestKit
import Testing

/// Tests traps that end only the isolated work (a closure that the program runs by `Shield.isolated`), from the process
/// through crashd to crashctl.
///
/// The suite has its own daemon: crashd limits its lists of incidents, so the many incidents of this suite would evict
/// those of other tests.
@Suite("Isolated work, end to end")
struct IsolatedTests {
  private static let scenario = "array-index"
  private static let traps = 30

  @Test(
    "thirty contained traps cause thirty incidents with message, function and line, and no crash report",
    arguments: [
      CrashRun.Thread.main, .task,
    ])
  func contained(thread: CrashRun.Thread) async throws {
    let daemon = try await PrivateDaemon.start()
    let run = try await Crasher.run(
      Self.scenario, ["--wait-attached", "--thread", thread.rawValue, "--isolate", "\(Self.traps)"],
      environment: daemon.place.environment, program: MatrixEmulation.isUsed ? MatrixBuild.debugProgram() : nil)
    // Status EX_SOFTWARE (70) means that the process did not crash.
    #expect(run.status.code == 70, "\(run.status) \(run.error)")
    #expect(try await daemon.reports(of: run.pid).isEmpty)
    let client = daemon.client
    let found = try await blocking { try client.incidents(source: "isolated") }
    let incidents = found.filter { $0.process.pid == Int(run.pid) }
    #expect(incidents.count == Self.traps)
    #expect(incidents.allSatisfy { $0.kind == "trap" && $0.mode == "absorb" && $0.count == 1 })
    let incident = try #require(incidents.first)
    #expect(incident.confidence == "certain" && incident.useThread != Int(run.pid))
    #expect(incident.sentence.contains("Isolated work trapped in faultArrayIndex()"), "\(incident.sentence)")
    #expect(incident.sentence.contains("ndex out of range"), "\(incident.sentence)")
    let mark = try SourceMark.find(Self.scenario)
    let use = try #require(incident.use.first { $0.isOwn }, "\(incident.use)")
    #expect(use.file?.hasSuffix(mark.file) == true && use.line == mark.line)
    let isX86 = MatrixBuild.architecture == .x86_64
    // A ring has 18 values per incident: 16 registers, the pc and the flags. On AArch64, the 16 are x0 to x15, without
    // sp.
    #expect(incident.registers?.count == 18, "\(incident)")
    // The stack contains the callers of the isolated work, including async callers.
    #expect(incident.use.contains { $0.function.contains("crashIsolated()") }, "\(incident.use.map(\.function))")
    if isX86 {
      let stack = try #require(incident.registers?["rsp"]?.rawValue)
      #expect(stack % 8 == 0 && stack > 0x1_0000, "\(incident)")
    } else {
      #expect(incident.registers?["x15"] != nil, "\(incident)")
    }
    let text = try await DanglingTests.crashctl([
      "incidents", "show", incident.id, "--socket", daemon.place.varlinkSocket,
    ])
    #expect(text.contains("faultArrayIndex") && text.contains("Isolated work trapped"), "\(text)")
    #expect(text.contains(isX86 ? "rip 0x" : "pc 0x") && text.contains(isX86 ? "rflags 0x" : "pstate 0x"), "\(text)")
    let top = try await DanglingTests.crashctl([
      "incidents", "top", "--by", "kind", "--kind", "trap", "--socket", daemon.place.varlinkSocket, "--no-legend",
    ])
    #expect(top.split { $0.isWhitespace }.prefix(2) == ["\(Self.traps)", "\(Self.traps)"] && top.contains("isolated"))
    try await daemon.stop()
  }
}
