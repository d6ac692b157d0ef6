import CrashShield
import CrashShieldGuards
import CrashShieldImplicit
import Dispatch
import Glibc
import TestKit
import Testing

/// Tests implicit guards in each mode: operations that the import of CrashShieldImplicit protects, without changes in
/// the code.
///
/// Each fault runs in its own process.
@Suite
struct ImplicitTests {
  static let numbers = Array(ImplicitFault.all.indices)

  @Test("off: a fault under an implicit guard ends the process by a trap, without a record", arguments: numbers)
  func off(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent], "\(ImplicitFault.all[number].name)"
    ) { [number] in
      beginCrash()
      Shield.setImplicitMode(.off)
      Shield.onIncident { _ in tell("recorded") }
      _ = ImplicitFault.all[number].body()
    }
    #expect(try #require(text(result)).contains("recorded") == false)
  }

  @Test(
    "observe, the default: a fault under an implicit guard leaves one record, then a trap ends the process",
    arguments: numbers)
  func observe(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent], "\(ImplicitFault.all[number].name)"
    ) { [number] in
      beginCrash()
      Shield.onIncident { tell($0.kind == ImplicitFault.all[number].kind && $0.mode == .observe ? "[right]" : "\($0)") }
      _ = ImplicitFault.all[number].body()
    }
    let told = try #require(text(result))
    #expect(told.hasSuffix("[right]") && told.split(separator: "[right]", omittingEmptySubsequences: false).count == 2)
  }

  @Test(
    "absorb: an implicit guard gives the documented value, one record, and an exact count on four threads",
    arguments: numbers)
  func absorb(number: Int) async {
    await #expect(processExitsWith: .exitCode(right), "\(ImplicitFault.all[number].name)") { [number] in
      let this = ImplicitFault.all[number]
      Shield.setImplicitMode(.absorb)
      guard this.body() else { complain("another value") }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<100 where !this.body() { complain("another value") }
      }
      let incidents = Shield.guardIncidents
      guard incidents.count == 1, let incident = incidents.first, incident.kind == this.kind, incident.count == 401,
        incident.mode == .absorb, !incident.reason.isEmpty, !incident.frames.isEmpty, incident.thread > 0
      else { complain("\(incidents)") }
      Glibc.exit(right)
    }
  }

  @Test(
    "implicit guards only observe in-place changes of bytes, and types without a default", arguments: [0, 1, 2])
  func observedAtMost(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent]
    ) { [number] in
      beginCrash()
      Shield.setImplicitMode(.absorb)
      Shield.onIncident { tell("[\($0.kind) \($0.mode)]") }
      var numbers = opaque([1, 2, 3])
      var values = opaque([Valueless()])
      switch number {
      case 0: numbers[opaque(3)] += 1
      // The guard cannot absorb this change, because the closure can write more than one element on purpose.
      case 1: unsafe withUnsafeMutableBytes(of: &numbers[opaque(-1)]) { unsafe $0[0] = 1 }
      default: values[opaque(0)] = values[opaque(1)]
      }
      tell("\(numbers) \(values)")
    }
    #expect(try #require(text(result)).hasSuffix(number < 2 ? "[mutation observe]" : "[index observe]"))
  }

  @Test("a type's default value is evaluated only if a guard uses it")
  func asked() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setImplicitMode(.absorb)
      var list = opaque([Asked(text: "a")])
      list[opaque(1)] = Asked(text: "b")
      guard unsafe Asked.count == 0, list[opaque(2)].text == "none", unsafe Asked.count == 1 else {
        complain("\(unsafe Asked.count)")
      }
      list[opaque(3)].text += "c"
      guard unsafe Asked.count == 2, list[0].text == "a", list.count == 1 else {
        complain("\(unsafe Asked.count)")
      }
      Glibc.exit(right)
    }
  }

  @Test("implicit guards change and record nothing if there is no fault")
  func harmless() async {
    await #expect(processExitsWith: .exitCode(right)) {
      var list = [3, 1, 2]
      list[0] += 1
      list[1...].sort()
      list[0..<1] = [9, 8]
      var nested = [[1], [2]]
      nested[1].append(list[0])
      let text = "aé😀"
      var part = list[1...]
      part[1] *= 7
      part[3] = nested[1].count
      guard part == [56, 1, 2], part[1] == 56, list == [9, 8, 1, 2], nested == [[1], [2, 9]],
        text[text.index(after: text.startIndex)] == "é", text[text.startIndex..<text.endIndex] == text,
        list[keyPath: \.[3]] == 2, 7 / 2 * 2 + 7 % 2 - 1 == 6, -5 + 5 == 0
      else { complain("\(list) \(nested)") }
      precondition(list[0] == 9)
      guard Shield.guardIncidents.isEmpty, Shield.implicitUnavailableReason == nil else {
        complain("\(Shield.guardIncidents) \(Shield.implicitUnavailableReason ?? "")")
      }
      Glibc.exit(right)
    }
  }

  @Test(
    "the implicit guards' self-test passes in every mode and changes no mode",
    arguments: ShieldMode.allCases.map { Int($0.rawValue) })
  func selfTest(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      Shield.setImplicitMode(ShieldMode.allCases[number])
      let results = await Shield.selfTest(including: ShieldCheck.implicit).filter { $0.check.contains("implicit") }
      guard results.count == ShieldCheck.implicit.count, results.allSatisfy({ $0.verdict == .absorbs }) else {
        complain("\(results)")
      }
      guard Shield.guardIncidents.isEmpty, Shield.implicitMode(for: .index) == ShieldMode.allCases[number] else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("the environment sets the modes of implicit guards separately from those of explicit guards")
  func environment() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // Invariant: no other thread exists, and no code has read the variable yet.
      unsafe setenv("CRASHSHIELD_IMPLICIT", "absorb,range=off", 1)
      guard Shield.implicitMode(for: .index) == .absorb, Shield.implicitMode(for: .range) == .off,
        Shield.mode(for: .range) == .absorb
      else { Glibc.exit(1) }
      Glibc.exit(right)
    }
  }

  /// Returns the output of the child after a mark, which follows the output of the testing library.
  private func text(_ result: ExitTest.Result?) -> String? {
    result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }
  }
}

/// A type without a default.
private final class Valueless {}

/// A type that counts how often its default value is computed.
///
/// The counter needs no lock, because only one thread uses the type.
private struct Asked: ShieldDefault {
  nonisolated(unsafe) static var count = 0
  var text: String

  static var shieldDefault: Asked {
    // Invariant: only the thread of the test accesses the count.
    unsafe count += 1
    return Asked(text: "none")
  }
}
