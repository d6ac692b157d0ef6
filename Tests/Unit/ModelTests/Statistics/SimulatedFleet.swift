import Foundation

@testable import DanglingStatistics

/// The simulation of `sim7_loop.py`, with the real policy loop.
///
/// It simulates services, their builds, bugs in some builds, and the effect of the protection.
struct SimulatedFleet {
  struct Result {
    var builds = 0
    var service_years = 0.0
    var bugs = 0
    var diagnosedBugs = 0
    var crashes = 0
    var silent = 0
    var absorbed = 0
    var falseSwitches = 0
    var raisedDays = 0.0
    var days = 0.0
  }

  /// A bug in one class of one build.
  private struct Bug {
    var className: String
    var rate: Double
    var isDiagnosed = false
  }

  /// The number of crashes per day that are wrongly diagnosed as a use-after-free.
  var background = 0.3
  /// The share of undetected accesses that crash the process, as measured in the crash matrix.
  var crashShare = 0.57
  /// The share of use-after-free crashes whose report names the class (rule L1).
  var namedShare = 0.49
  /// The share of the accesses to protected classes that each level detects.
  var caughtShare: [ProtectionLevel: Double] = [.off: 0, .base: 0.7, .raised: 0.9]
  var rules = ProtectionRules(allowsAutomaticProtection: true)

  /// Simulates one service.
  ///
  /// The builds of the service follow one after the other. Each runs for 14 days.
  func run(builds: Int, _ generator: inout SeededGenerator, into result: inout Result) {
    var loop = PolicyLoop(rules: rules)
    var incarnation = 0
    for build in 0..<builds {
      var bugs: [Bug] = []
      if generator.chance(0.1) {
        for index in 0...generator.below(3) {
          bugs.append(Bug(className: "App.C\(build)-\(index)", rate: 3 * exp(generator.normal())))
        }
      }
      result.builds += 1
      result.bugs += bugs.count
      for day in 0..<14 {
        let start_s = Double(build * 14 + day) * 86_400
        receive(.load(["build\(build)": 50]), at: start_s, isFaulty: !bugs.isEmpty, &loop, &result)
        var accesses: [(time_s: Double, bug: Int?)] = []
        for _ in 0..<generator.poisson(background) { accesses.append((start_s + 86_400 * generator.uniform(), nil)) }
        for (index, bug) in bugs.enumerated() {
          for _ in 0..<generator.poisson(bug.rate) { accesses.append((start_s + 86_400 * generator.uniform(), index)) }
        }
        for access in accesses.sorted(by: { $0.time_s < $1.time_s }) {
          incarnation += 1
          var className: String?
          if let index = access.bug {
            let bug = bugs[index]
            let protection = loop.protection
            let isCovered = protection.includesOwnClasses || protection.classes.contains(bug.className)
            if isCovered, generator.chance(caughtShare[protection.level] ?? 0) {
              result.absorbed += 1
              bugs[index].isDiagnosed = true
              receive(
                .hit(className: bug.className, group: bug.className), at: access.time_s, isFaulty: true, &loop, &result)
              continue
            }
            guard generator.chance(crashShare) else {
              result.silent += 1
              continue
            }
            result.crashes += 1
            className = generator.chance(namedShare) ? bug.className : nil
          }
          let crash = DanglingCrash(
            build: "build\(build)", incarnation: "\(incarnation)", instance: "host\(generator.below(50))",
            className: className)
          receive(.crash(crash), at: access.time_s, isFaulty: !bugs.isEmpty, &loop, &result)
        }
        result.raisedDays += loop.protection.level == .raised ? 1 : 0
        result.days += 1
      }
      result.diagnosedBugs += bugs.count { $0.isDiagnosed }
    }
    result.service_years += Double(builds * 14) / 365
  }

  private func receive(
    _ input: PolicyInput, at time_s: Double, isFaulty: Bool, _ loop: inout PolicyLoop, _ result: inout Result
  ) {
    for event in loop.receive(input, at: time_s) where event.action == .switched && event.to == .raised {
      result.falseSwitches += isFaulty ? 0 : 1
    }
  }
}
