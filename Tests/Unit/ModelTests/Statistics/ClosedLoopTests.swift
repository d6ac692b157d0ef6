import Foundation
import Testing

@testable import DanglingStatistics

/// Tests the policy loop, which decides on the protection of classes, on simulated services.
///
/// The limits in the expectations are requirements of the design.
@Suite("Closed loop")
struct ClosedLoopTests {
  @Test("a fleet of 400 builds has at most one false alarm per service and year, and over 85 % of bugs are diagnosed")
  func fleet() {
    var generator = SeededGenerator(seed: 81)
    var result = SimulatedFleet.Result()
    for _ in 0..<20 * Simulation.scale { SimulatedFleet().run(builds: 20, &generator, into: &result) }
    var unprotected = SimulatedFleet.Result()
    var fleet = SimulatedFleet()
    fleet.rules = ProtectionRules(pin: .off)
    for _ in 0..<20 * Simulation.scale { fleet.run(builds: 20, &generator, into: &unprotected) }

    Simulation.note("fleet: \(result); unprotected: \(unprotected)")
    #expect(result.builds == 400 * Simulation.scale)
    #expect(Double(result.falseSwitches) <= result.service_years)
    #expect(Double(result.diagnosedBugs) > 0.85 * Double(result.bugs))
    #expect(unprotected.diagnosedBugs == 0)
    // Compares crashes per bug, because the runs with and without protection drew different numbers of bugs.
    let share =
      Double(result.crashes) / Double(result.bugs) / (Double(unprotected.crashes) / Double(unprotected.bugs))
    #expect(share < 0.8, "\(share)")
    #expect(result.raisedDays < 0.15 * result.days)
  }

  /// Simulates the crashes of a service whose crash rate can change on a given day.
  ///
  /// Returns the times at which the policy raised the protection level.
  private static func switches(
    days: Int, rate: (Int) -> Double, stopAtFirst: Bool = false, _ generator: inout SeededGenerator
  ) -> [Double] {
    var loop = PolicyLoop(rules: ProtectionRules(allowsAutomaticProtection: true))
    var switches: [Double] = []
    var incarnation = 0
    for day in 0..<days {
      let start_s = Double(day) * 86_400
      _ = loop.receive(.load(["build": 50]), at: start_s)
      let times = (0..<generator.poisson(rate(day))).map { _ in start_s + 86_400 * generator.uniform() }
      for time_s in times.sorted() {
        incarnation += 1
        let crash = DanglingCrash(
          build: "build", incarnation: "\(incarnation)", instance: "host\(generator.below(50))")
        for event in loop.receive(.crash(crash), at: time_s) where event.to == .raised {
          switches.append(time_s / 86_400)
          if stopAtFirst { return switches }
        }
      }
    }
    return switches
  }

  @Test("a rise from 0.1 crashes a day to 1 a day is detected within 5 days on average")
  func rise() {
    var generator = SeededGenerator(seed: 82)
    var delays = Measurements()
    for _ in 0..<300 * Simulation.scale {
      let found = Self.switches(days: 120, rate: { $0 < 60 ? 0.1 : 1 }, &generator).first { $0 >= 60 }
      delays.add((found ?? 120) - 60)
    }
    Simulation.note("rise: \(delays.mean) ± \(delays.standardError) days")
    #expect(delays.mean + 2 * delays.standardError <= 5, "\(delays.mean) ± \(delays.standardError) days")
  }

  @Test(
    "a service with a constant crash rate gets at most one false alarm a year, with a learned baseline",
    arguments: [0.02, 0.1, 0.5, 2])
  func falseAlarms(rate: Double) {
    var generator = SeededGenerator(seed: 83)
    var switches = 0
    let years = 40 * Simulation.scale
    for _ in 0..<years / 2 { switches += Self.switches(days: 730, rate: { _ in rate }, &generator).count }
    Simulation.note("\(rate) a day: \(switches) false switch-ons in \(years) years")
    #expect(Double(switches) <= Double(years))
  }

  @Test("a restart during the run does not change the closed loop's decisions")
  func restart() throws {
    var generator = SeededGenerator(seed: 84)
    var loop = PolicyLoop(rules: ProtectionRules(allowsAutomaticProtection: true))
    var restarted = loop
    var events = 0
    for hour in 0..<24 * 120 {
      let time_s = Double(hour) * 3_600
      var inputs: [PolicyInput] = []
      if hour % 24 == 0 { inputs.append(.load(["one": 3, "two": Double(hour % 5)])) }
      if generator.chance(hour < 24 * 60 ? 0.01 : 0.1) {
        let crash = DanglingCrash(
          build: generator.chance(0.5) ? "one" : "two", incarnation: "\(hour)", instance: "host",
          className: generator.chance(0.5) ? "App.Session" : nil)
        inputs.append(.crash(crash))
      }
      if loop.protection.level == .raised, generator.chance(0.1) {
        inputs.append(.hit(className: "App.Session", group: "g\(generator.below(4))"))
      }
      for input in inputs {
        let one = loop.receive(input, at: time_s)
        restarted = try JSONDecoder().decode(PolicyLoop.self, from: JSONEncoder().encode(restarted))
        #expect(restarted.receive(input, at: time_s) == one)
        events += one.count
      }
    }
    #expect(restarted == loop)
    #expect(events >= 2)
  }
}
