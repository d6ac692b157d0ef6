import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import Testing

@testable import crash_forward

// Asks (requests of the fleet to this host) for the protection of a class against use-after-free.
extension FleetRunnerTests {
  private static func committed(asks: [Int], of className: String) -> StubServer.Answer {
    let asks = asks.map { #"{"id":\#($0),"protect":{"program":"shop","class":"\#(className)"}}"# }
    return StubServer.Answer(body: #"{"committed":true,"refused":[],"asks":[\#(asks.joined(separator: ","))]}"#)
  }

  private static func policy(
    _ name: String = "shop", listed: [String] = [], by: DanglingPolicyReport.ListedBy = .byOperator,
    released: [String] = [], level: DanglingPolicyReport.Level = .base, processes: Int = 1
  ) -> DanglingPolicyReport {
    DanglingPolicyReport(
      uid: 1, name: name, program: "/srv/\(name)", level: level, pin: .automatic, isAutomaticAllowed: true,
      budgetBytes: 1, baseBudgetBytes: 1, raisedBudgetBytes: 1, crashLoopSeconds: 1, evidence: 0,
      alarmThresholdDays: 1, usualPerDay: 0, countedCrashes: 0,
      classes: listed.map { .init(name: $0, listedBy: by, mode: .zero, limit: 50) }, releasedClasses: released,
      includesOwnClasses: false, processes: processes, applied: processes, refusals: [:], days: [])
  }

  private func outcomes(_ run: Run) -> [String] {
    run.bodies.joined().compactMap { item in
      item["answer"]?["ask"]?.int.map { "\($0) \(item["answer"]?["outcome"]?.string ?? "")" }
    }
  }

  private struct Calls {
    /// The calls that change crashd's policy.
    var protect: [String] = []
    var policies = 0
  }

  /// Runs the fleet runner with a crashd that has these policies, and returns the calls that crashd received.
  private func run(
    _ count: Int, policies: [DanglingPolicyReport] = [policy()], asks: [Int] = [7],
    of className: String = "Shop.Cart", allowsProtection: Bool = true, answered: String? = nil, filter: String? = nil,
    step: Duration = .seconds(20), answersPolicies: Bool = true,
    changed: String = #"{"services":["shop"],"processes":1,"applied":1}"#,
    protect: @escaping @Sendable (Int) -> String? = { _ in nil }
  ) throws -> (run: Run, calls: Calls) {
    let policies = try policies.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    let calls = Mutex(Calls())
    let run = try run(
      count, answered: answered, step: step, allowsProtection: allowsProtection, filter: filter,
      answer: { _, _ in Self.committed(asks: asks, of: className) },
      control: { call in
        if call.contains("Crashd.DanglingPolicies") {
          calls.withLock { $0.policies += 1 }
          return (answersPolicies ? "{\"services\":[\(policies.joined(separator: ","))]}" : "", nil)
        }
        guard call.contains("Crashd.DanglingProtect") else { return nil }
        let number = calls.withLock { calls in
          calls.protect.append(call)
          return calls.protect.count
        }
        if let error = protect(number) { return (#"{"class":"Shop.Cart"}"#, "io.crashshield.Crashd.\(error)") }
        return (changed, nil)
      })
    return (run, calls.withLock { $0 })
  }

  @Test("crashd protects the class of an ask once, if the host allows it")
  func protected() throws {
    let (run, calls) = try run(3, filter: "sho")
    let call = try #require(calls.protect.first)
    #expect(call.contains("\"class\":\"Shop.Cart\"") && call.contains("\"name\":\"shop\""))
    #expect(calls.protect.count == 1 && !call.contains("force"))
    #expect(outcomes(run) == ["7 protected"])
    #expect(run.counts.refusedAsks == 0)
    #expect(run.log.contains { $0.contains("the fleet asked for protection of Shop.Cart") })
    let (again, repeated) = try self.run(3, answered: "[7]")
    #expect(repeated.protect.isEmpty && outcomes(again).isEmpty)
  }

  @Test("without the setting, an ask is refused, counted and logged once, and crashd receives no call")
  func notAllowed() throws {
    let (run, calls) = try run(3, asks: [7, 8, 7], allowsProtection: false)
    #expect(calls.protect.isEmpty && calls.policies == 0 && outcomes(run) == ["7 refused", "8 refused"])
    #expect(run.counts.refusedAsks == 2 && run.counts.text("fleet").contains("2 asks refused"))
    #expect(run.log.filter { $0.hasPrefix("notice") && $0.contains("fleet.allow-protection is false") }.count == 1)
  }

  @Test("an ask for a program that the host does not send to the fleet is refused without a call")
  func filtered() throws {
    let (run, calls) = try run(2, filter: "mail")
    #expect(calls.policies == 0 && outcomes(run) == ["7 refused"])
    #expect(run.log.contains { $0.contains("fleet.program excludes the program") })
  }

  @Test("an ask that would change what an operator of the host set is refused")
  func refused() throws {
    let many = (0..<32).map { "Shop.C\($0)" }
    let cases: [(policies: [DanglingPolicyReport], why: String)] = [
      ([Self.policy(released: ["Shop.Cart"])], "has stopped its protection"),
      ([Self.policy(), Self.policy(level: .off)], "has turned the protection of the program off"),
      ([Self.policy(listed: ["Shop.Cart"]), Self.policy()], "already protected in a part of the program's services"),
      ([Self.policy(released: ["$s4Shop4CartC"])], "set a class by its mangled name"),
      ([Self.policy(listed: ["4Shop4CartC"])], "set a class by its mangled name"),
      ([Self.policy(listed: many)], "32 classes of a program are protected already"),
    ]
    for (policies, why) in cases {
      let (run, calls) = try run(2, policies: policies)
      #expect(calls.protect.isEmpty && outcomes(run) == ["7 refused"], "\(why)")
      #expect(run.log.contains { $0.contains(why) }, "\(why)")
    }
    let (mangled, mangledCalls) = try run(2, of: "$s4Shop4CartC")
    #expect(mangledCalls.policies == 0 && outcomes(mangled) == ["7 refused"])
    let (denied, deniedCalls) = try run(2) { _ in "TooManyClasses" }
    #expect(deniedCalls.protect.count == 1 && outcomes(denied) == ["7 refused"])
  }

  @Test("a class that an operator of the host has listed is protected without a call, and keeps its limit")
  func alreadyProtected() throws {
    let (run, calls) = try run(2, policies: [Self.policy(listed: ["Shop.Cart"])])
    #expect(calls.protect.isEmpty && outcomes(run) == ["7 protected"])
    // This class is protected only because of crashd's statistics, which can end the protection. So the ask also lists
    // it.
    let (suspected, suspectedCalls) = try self.run(2, policies: [Self.policy(listed: ["Shop.Cart"], by: .statistics)])
    #expect(suspectedCalls.protect.count == 1 && outcomes(suspected) == ["7 protected"])
  }

  @Test("an ask for a class that no process has stays open until one has it")
  func later() throws {
    let (run, calls) = try run(4, step: .seconds(60)) { $0 < 3 ? "NoSuchClass" : nil }
    #expect(calls.protect.count == 3 && outcomes(run) == ["7 protected"] && run.counts.refusedAsks == 0)
  }

  @Test("an ask stays open while no process of its program is attached, or while crashd would change another program")
  func notAttached() throws {
    for policies in [[], [Self.policy(processes: 0)], [Self.policy(), Self.policy("workshop")]] {
      let (run, calls) = try run(4, policies: policies)
      #expect(calls.policies > 0 && calls.protect.isEmpty && outcomes(run).isEmpty, "\(policies)")
    }
  }

  @Test("if crashd does not answer, the other asks wait for the next batch")
  func unanswered() throws {
    let (run, calls) = try run(1, asks: [7, 8, 9], answersPolicies: false)
    #expect(calls.policies == 1 && outcomes(run).isEmpty)
  }

  @Test("a change of another program, which attached meanwhile, is logged")
  func changedAnother() throws {
    let (run, _) = try run(2, changed: #"{"services":["shop","workshop"],"processes":2,"applied":2}"#)
    #expect(outcomes(run) == ["7 protected"])
    #expect(run.log.contains { $0.hasPrefix("warning") && $0.contains("in 'workshop', not only in 'shop'") })
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
