import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Testing

/// Tests the results of `Shield.selfTest`, and that the faults of a self-test are not incidents.
@Suite
struct SelfTestTests {
  @Test(
    "every self-test check passes in every mode and leaves the modes unchanged",
    arguments: ShieldMode.allCases.map { Int($0.rawValue) })
  func modes(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      let mode = ShieldMode.allCases[number]
      Shield.setMode(mode)
      Shield.onIncident { complain("an incident: \($0)") }
      let results = await Shield.selfTest(including: ShieldCheck.foundation)
      let others = results.filter { $0.verdict != .absorbs }
      guard others.map(\.kind) == [.transition, .pipe], others.allSatisfy({ !isFailure($0) }) else {
        complain("\(others)")
      }
      guard ShieldKind.allCases.allSatisfy({ Shield.mode(for: $0) == mode }) else { complain("another mode") }
      guard Shield.guardIncidents.isEmpty, Shield.droppedIncidentCount == 0, Shield.danglingIncidents().isEmpty else {
        complain("\(Shield.guardIncidents) \(Shield.danglingIncidents())")
      }
      exit(right)
    }
  }

  @Test("a self-test that runs on the main actor includes the checks that need it")
  @MainActor
  func mainActor() async {
    let results = await Shield.selfTest()
    #expect(results.filter { $0.kind == .transition }.map(\.verdict) == [.absorbs])
    #expect(!results.contains(where: isFailure))
  }

  @Test("Shield.selfTest returns a result for every guard kind, and a reason for each skipped kind")
  func kinds() async {
    let results = await Shield.selfTest()
    #expect(Set(results.map(\.kind)) == Set(ShieldKind.allCases))
    let unasked = results.filter(\.check.isEmpty)
    #expect(unasked.count == 10)
    #expect(unasked.allSatisfy { if case .notAsked(let why) = $0.verdict { !why.isEmpty } else { false } })
  }

  @Test("a self-test fails if the guard returns a wrong value, throws, or leaves a missing, double or wrong record")
  func failures() async {
    let checks = [
      ShieldCheck("another value", .gate) { line in
        Shield.recordFault(.gate, at: ShieldSite(line: line)) { "once" }
        return false
      },
      ShieldCheck("nothing", .gate) { _ in true },
      ShieldCheck("twice", .gate) { line in
        Shield.recordFault(.gate, at: ShieldSite(line: line)) { "once" }
        return Shield.handleFault(.gate, at: ShieldSite(line: line)) { "again" }
      },
      ShieldCheck("another kind", .gate) { line in Shield.handleFault(.index, at: ShieldSite(line: line)) { "once" } },
      ShieldCheck("thrown", .gate) { _ in throw ShieldFault.missing("it") },
    ]
    let verdicts = await Shield.selfTest(including: checks).filter { $0.kind == .gate }.suffix(5).map(\.verdict)
    #expect(
      verdicts == [
        .fails("not the documented value"), .fails("recorded as nothing"), .fails("recorded as gate, gate"),
        .fails("recorded as index"), .fails("missing(\"it\")"),
      ])
  }

  @Test("concurrent self-tests count only their own faults, not those of the program")
  func together() async {
    await #expect(processExitsWith: .exitCode(right)) {
      await withTaskGroup { group in
        for _ in 0..<8 {
          group.addTask {
            let results = await Shield.selfTest(including: ShieldCheck.foundation)
            if let failure = results.first(where: isFailure) { complain("\(failure)") }
          }
          group.addTask {
            for _ in 0..<100 { _ = [Int]()[shielded: 0, line: 1] }
          }
        }
      }
      guard Shield.guardIncidents.map(\.count) == [800] else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }
}

private func isFailure(_ result: ShieldCheck.Result) -> Bool {
  if case .fails = result.verdict { true } else { false }
}
