import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import Testing

/// The exit status of a child that has reached its end, and in which all checks have passed.
let right: Int32 = 42

/// Tests every guard in each mode, each in its own process.
@Suite
struct GuardTests {
  static let numbers = Array(GuardCase.all.indices)
  static let ending = numbers.filter { GuardCase.all[$0].signal != nil }
  static let trapping = ending.filter { GuardCase.all[$0].isPerformed }

  @Test("each fault ends the process by its expected signal without a guard", arguments: ending)
  func plain(number: Int) async {
    await #expect(processExitsWith: GuardCase.all[number].end, "\(GuardCase.all[number].name)") { [number] in
      beginCrash()
      GuardCase.all[number].plain()
    }
  }

  @Test("off: a guarded fault ends the process by the unguarded signal, without a record", arguments: trapping)
  func off(number: Int) async throws {
    let result = await #expect(
      processExitsWith: GuardCase.all[number].end, observing: [\.standardOutputContent], "\(GuardCase.all[number].name)"
    ) { [number] in
      beginCrash()
      Shield.setMode(.off)
      Shield.onIncident { _ in tell("recorded") }
      _ = GuardCase.all[number].guarded()
    }
    #expect(try #require(text(result)).contains("recorded") == false)
  }

  @Test(
    "observe: a guarded fault leaves one record with its call site, then ends the process by the unguarded signal",
    arguments: trapping)
  func observe(number: Int) async throws {
    let result = await #expect(
      processExitsWith: GuardCase.all[number].end, observing: [\.standardOutputContent], "\(GuardCase.all[number].name)"
    ) { [number] in
      beginCrash()
      Shield.setMode(.observe)
      Shield.onIncident { tell(GuardCase.all[number].isMet(by: $0) && $0.mode == .observe ? "[right]" : "\($0)") }
      _ = GuardCase.all[number].guarded()
    }
    #expect(try #require(text(result)).hasSuffix("[right]"))
  }

  @Test(
    "absorb: a guarded fault gives the documented value, one record, and an exact count on four threads",
    arguments: numbers)
  func absorb(number: Int) async {
    await #expect(processExitsWith: .exitCode(right), "\(GuardCase.all[number].name)") { [number] in
      let this = GuardCase.all[number]
      guard this.guarded() else { complain("another value") }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<250 where !this.guarded() { complain("another value") }
      }
      let incidents = Shield.guardIncidents
      guard incidents.count == 1, this.isMet(by: incidents[0]), incidents[0].count == 1001,
        incidents[0].mode == .absorb
      else { complain("\(incidents)") }
      Glibc.exit(right)
    }
  }

  @Test(
    "a fault that never traps continues in mode off, without a record",
    arguments: numbers.filter { !trapping.contains($0) })
  func harmless(number: Int) async {
    await #expect(processExitsWith: .exitCode(right), "\(GuardCase.all[number].name)") { [number] in
      let this = GuardCase.all[number]
      // Not for memory faults, whose guard would read outside of the buffer in these modes.
      if this.kind != .memory {
        Shield.setMode(.off)
        guard this.guarded(), Shield.guardIncidents.isEmpty else { complain("off: \(Shield.guardIncidents)") }
        Shield.setMode(.observe)
        guard this.guarded(), Shield.guardIncidents.count == 1, this.isMet(by: Shield.guardIncidents[0]),
          Shield.guardIncidents[0].mode == .observe, Shield.guardIncidents[0].count == 1
        else { complain("observe: \(Shield.guardIncidents)") }
      }
      Glibc.exit(right)
    }
  }

  /// Returns the output of the child after a mark, which follows the output of the testing library.
  private func text(_ result: ExitTest.Result?) -> String? {
    result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }
  }
}

/// Prepares this process for a deliberate crash.
///
/// After this call, the process writes no core file and no report of Swift's backtracer, and ends in the same way as
/// without a sanitizer.
func beginCrash() {
  for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] { signal(number, SIG_DFL) }
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  // Invariant: setrlimit() reads the structure only during the call.
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
}

func tell(_ text: String) {
  let bytes = Array(text.utf8)
  // Invariant: write() reads at most as many bytes as the array has.
  _ = unsafe write(STDOUT_FILENO, bytes, bytes.count)
}

func complain(_ text: String) -> Never {
  let bytes = Array("\(text)\n".utf8)
  // write() reads at most as many bytes as the array has.
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  Glibc.exit(1)
}
