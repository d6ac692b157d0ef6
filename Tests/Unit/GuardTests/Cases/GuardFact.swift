import CrashShield
import CrashShieldGuards
import Foundation
import Testing

/// An edge case of a guard, and how many faults it must record.
///
/// `isTrue` calls the guard, and returns whether its result is the documented one.
struct GuardFact: Sendable {
  var name: String
  /// The expected number of faults that the process records.
  var faults: Int
  var isTrue: @Sendable () async throws -> Bool

  static let all = collections + values + services

  init(_ name: String, faults: Int = 0, _ isTrue: @escaping @Sendable () async throws -> Bool) {
    self.name = name
    self.faults = faults
    self.isTrue = isTrue
  }
}

/// Each edge case runs in its own process.
///
/// Therefore all records of the process belong to this edge case.
@Suite
struct GuardFactTests {
  @Test(
    "a guard gives the documented value at its edge cases, and records only real faults",
    arguments: GuardFact.all.indices)
  func fact(number: Int) async {
    await #expect(processExitsWith: .exitCode(right), "\(GuardFact.all[number].name)") { [number] in
      let fact = GuardFact.all[number]
      guard try await fact.isTrue() else { complain("\(fact.name): another value") }
      let faults = Shield.guardIncidents.reduce(0) { $0 + $1.count }
      guard faults == fact.faults else { complain("\(fact.name): \(Shield.guardIncidents)") }
      exit(right)
    }
  }
}
