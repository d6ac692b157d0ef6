import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import Testing

@testable import crash_forward

// Asks of the fleet for the protection of a class.
extension FleetRunnerTests {
  private static let ask =
    #"{"committed":true,"refused":[],"asks":[{"id":7,"protect":{"program":"shop","class":"Shop.Cart"}}]}"#

  private func outcomes(_ run: Run) -> [String] {
    run.bodies.joined().compactMap { item in
      item["answer"]?["ask"]?.int.map { "\($0) \(item["answer"]?["outcome"]?.string ?? "")" }
    }
  }

  /// Runs with a crashd that has these programs, and returns the calls that change its policy.
  private func run(
    _ count: Int, programs: [String] = ["shop"], released: [String] = [], allowsProtection: Bool = true,
    answered: String? = nil, protect: @escaping @Sendable (Int) -> String? = { _ in nil }
  ) throws -> (run: Run, calls: [String]) {
    let policies = try programs.map { name in
      let policy = DanglingPolicyReport(
        uid: 1, name: name, program: "/srv/\(name)", level: .base, pin: .automatic, isAutomaticAllowed: true,
        budgetBytes: 1, baseBudgetBytes: 1, raisedBudgetBytes: 1, crashLoopSeconds: 1, evidence: 0,
        alarmThresholdDays: 1, usualPerDay: 0, countedCrashes: 0, classes: [], releasedClasses: released,
        includesOwnClasses: false, processes: 1, applied: 1, refusals: [:], days: [])
      return String(decoding: try JSONEncoder().encode(policy), as: UTF8.self)
    }
    let calls = Mutex<[String]>([])
    let run = try run(
      count, answered: answered, allowsProtection: allowsProtection,
      answer: { _, _ in StubServer.Answer(body: Self.ask) },
      control: { call in
        if call.contains("Crashd.DanglingPolicies") {
          return ("{\"services\":[\(policies.joined(separator: ","))]}", nil)
        }
        guard call.contains("Crashd.DanglingProtect") else { return nil }
        let number = calls.withLock { calls in
          calls.append(call)
          return calls.count
        }
        if let error = protect(number) { return (#"{"class":"Shop.Cart"}"#, "io.crashshield.Crashd.\(error)") }
        return (#"{"services":["shop"],"processes":1,"applied":1}"#, nil)
      })
    return (run, calls.withLock { $0 })
  }

  @Test("crashd protects the class of an ask once, if the host allows it")
  func protected() throws {
    let (run, calls) = try run(3)
    #expect(calls.count == 1 && calls[0].contains("\"class\":\"Shop.Cart\"") && calls[0].contains("\"name\":\"shop\""))
    #expect(!calls[0].contains("force"))
    #expect(outcomes(run) == ["7 protected"])
    #expect(run.counts.refusedAsks == 0)
    #expect(run.log.contains { $0.contains("the fleet asked for protection of Shop.Cart") })
    let (again, repeated) = try self.run(3, answered: "[7]")
    #expect(repeated.isEmpty && outcomes(again).isEmpty)
  }

  @Test("without the setting, an ask is refused, counted and logged once, and crashd receives no call")
  func notAllowed() throws {
    let (run, calls) = try run(3, allowsProtection: false)
    #expect(calls.isEmpty && outcomes(run) == ["7 refused"])
    #expect(run.counts.refusedAsks == 1 && run.counts.text("fleet").contains("1 ask refused"))
    #expect(run.log.filter { $0.contains("fleet.allow-protection is false") }.count == 1)
  }

  @Test("an ask that would change another program, or that an operator of the host excluded, is refused")
  func refused() throws {
    let (wide, wideCalls) = try run(2, programs: ["shop", "workshop"])
    #expect(wideCalls.isEmpty && outcomes(wide) == ["7 refused"])
    #expect(wide.log.contains { $0.contains("also change the program 'workshop'") })
    let (released, releasedCalls) = try run(2, released: ["Shop.Cart"])
    #expect(releasedCalls.isEmpty && outcomes(released) == ["7 refused"])
    let (denied, deniedCalls) = try run(2) { _ in "TooManyClasses" }
    #expect(deniedCalls.count == 1 && outcomes(denied) == ["7 refused"])
  }

  @Test("an ask for a class that no process has stays open until one has it")
  func later() throws {
    let (run, calls) = try run(4) { $0 < 3 ? "NoSuchClass" : nil }
    #expect(calls.count == 3 && outcomes(run) == ["7 protected"] && run.counts.refusedAsks == 0)
  }

  @Test(
    "a class or program that cannot be a name is ignored",
    arguments: [
      #""program":"shop","class":"A B""#, #""program":"shop","class":"""#, #""program":"","class":"A""#,
      #""program":"shop","class":"A\n""#, #""program":"shop","class":7"#, #""class":"A""#,
    ])
  func strangeNames(members: String) throws {
    let reply = JSONValue(parsing: Array(#"{"asks":[{"id":1,"protect":{\#(members)}}]}"#.utf8))
    #expect(reply != nil && FleetAsk.asks(in: reply).isEmpty)
    let long = String(repeating: "x", count: 513)
    let large = JSONValue(parsing: Array(#"{"asks":[{"id":1,"protect":{"program":"p","class":"\#(long)"}}]}"#.utf8))
    #expect(large != nil && FleetAsk.asks(in: large).isEmpty)
  }
}
