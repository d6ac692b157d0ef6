import CrashMaker
import CrashReport
import Testing

/// The right cause on top, for every way to crash.
@Suite(.sharedDaemon, .serialized)
struct DiagnosisTests {
  /// Scenarios that say what they are: by their names.
  private static let causes: [String: [String]] = [
    "swift-fatal-error": [
      "fatal-error", "precondition-message", "forced-cast-any", "forced-cast-class", "forced-try", "assertion",
      "continuation-twice", "exclusivity",
    ],
    "dangling": freed + ["unowned-dangling"],
    "wrong-executor": ["actor-assume-isolated", "main-actor-off-main"],
    "dispatch-misuse": ["dispatch-sync-self", "dispatch-over-resume", "dispatch-unbalanced-leave"],
    "null-pointer-offset": ["null-plus-offset"],
    "null-call": ["null-call"],
    "wild-pointer": ["wild-read", "memcpy-bad-pointer", "smashed-frame-pointer"],
    "non-canonical": ["non-canonical", "inside-malloc"],
    "read-only-write": ["read-only-write"],
    "jump-to-data": ["no-exec-jump"],
    "jump-to-unmapped": ["jump-to-odd-address", "smashed-return-address", "after-dlclose"],
    "truncated-mapping": ["bus-truncated-mmap"],
    "privileged-instruction": ["privileged-instruction"],
    "trap": ["undefined-instruction", "builtin-trap"],
    "breakpoint": ["int3"],
    "integer-division": ["float-divide"],
    "blocked-system-call": ["seccomp-sys"],
    "abort": ["abort", "watchdog-abort", "sigabrt-ignored", "pure-virtual"],
    "assertion": ["libc-assert"],
    "heap-corruption": ["double-free", "free-invalid", "heap-overwrite-metadata", "malloc-corrupt-top"],
    "stack-smashing": ["stack-smash"],
    "raised-signal": ["raise"],
    "sent-signal": ["kill-from-outside", "kill-abort-from-outside", "kill-ill-from-outside"],
    "cxx-exception": ["cxx-terminate", "cxx-throw-int", "cxx-throw-derived", "noexcept-throw"],
    "killed": ["killed-mid-record", "sigkill", "sigkill-with-child"],
    "handler-did-not-run": ["all-signals-blocked"],
    "stack-overflow": ["stack-overflow", "stack-overflow-small-thread", "sigaltstack-owned-by-app"],
  ]
  /// Those in which freed memory is used.
  private static let freed = ["use-after-free-call", "c-callback-context"]
  private static let swiftFailures: Set = ["swift-fatal-error", "swift-runtime-failure"]

  /// A cause that a rule may say of a scenario; by what crashes it, where its name does not say.
  private static func causes(of scenario: Scenario) -> Set<String> {
    // Swift's checks: the same in words or by an inlined reason, as the build has it; an optimized precondition keeps no
    // words of its own.
    if let cause = causes.first(where: { $0.value.contains(scenario.name) }) {
      return swiftFailures.contains(cause.key) && scenario.reportedSignal == "SIGILL" ? swiftFailures : [cause.key]
    }
    if scenario.reportedSignal == "SIGILL" { return swiftFailures }
    // The others crash in many places, by one write through null.
    return ["null-pointer"]
  }

  @Test("the right cause for each scenario, freed memory only where there is some", arguments: ["debug", "optimized"])
  func causes(build: String) async throws {
    var program: String?
    if build == "optimized" {
      guard let optimized = try Binaries.optimizedCrashMaker() else { return }
      program = optimized
    }
    let daemon = try SharedDaemon.current
    let isOptimized = build == "optimized" || Binaries.areInstalled
    var (right, wrong) = (0, [String]())
    for scenario in Scenario.runnable(isOptimized: isOptimized, isStatic: Binaries.areInstalled)
    where scenario.isReported {
      let crash = try await Crasher.run(
        scenario.name, ["--wait-attached"], environment: daemon.place.environment, program: program)
      guard let diagnosis = try await daemon.reports(of: crash.reportedPid(of: scenario)).first?.diagnosis else {
        wrong.append("\(scenario.name): no report")
        continue
      }
      if Self.causes(of: scenario).contains(diagnosis.cause) {
        right += 1
      } else {
        wrong.append("\(scenario.name): \(diagnosis.cause), \(diagnosis.confidence): \(diagnosis.sentence)")
        // A wrong cause that claims to be sure is worse than none.
        #expect(diagnosis.confidence < 0.9, "\(scenario.name): \(diagnosis.sentence)")
      }
      let isDangling = scenario.name == "unowned-dangling" || Self.freed.contains(scenario.name)
      #expect((diagnosis.cause == "dangling") == isDangling, "\(scenario.name): \(diagnosis.sentence)")
      // What is inferred from memory is never certain.
      #expect(!Self.freed.contains(scenario.name) || diagnosis.confidence < 1)
    }
    #expect(right * 100 >= (right + wrong.count) * 95, "\(wrong.joined(separator: "\n"))")
    if !wrong.isEmpty { print("causes, \(build): \(right) right; not right:\n" + wrong.joined(separator: "\n")) }
  }
}
