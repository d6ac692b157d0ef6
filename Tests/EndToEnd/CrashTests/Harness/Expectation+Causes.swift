import CrashMaker
import CrashReport
import TestKit

extension Expectation {
  /// The scenarios that access freed memory.
  static let freed = ["use-after-free-call", "c-callback-context"]

  /// For each cause, the scenarios whose reports are expected to have it.
  private static let named: [CrashReport.Cause: [String]] = [
    "swift-fatal-error": [
      "fatal-error", "fatal-error-long", "fatal-error-as-pid-1", "precondition-message", "forced-cast-any",
      "forced-cast-class", "forced-try",
      "assertion",
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
    "trap": ["undefined-instruction", "builtin-trap", "trap-as-pid-1", "reraise-trap"],
    "breakpoint": ["int3"],
    "integer-division": ["float-divide"],
    "blocked-system-call": ["seccomp-sys"],
    "abort": ["abort", "abort-as-pid-1", "watchdog-abort", "sigabrt-ignored", "inside-setxid", "warned-before-abort"],
    "pure-virtual-call": ["pure-virtual"],
    "assertion": ["libc-assert"],
    "heap-corruption": ["double-free", "free-invalid", "heap-overwrite-metadata", "malloc-corrupt-top"],
    "stack-smashing": ["stack-smash"],
    "raised-signal": ["raise", "sent-abort-in-new"],
    "sent-signal": ["kill-from-outside", "kill-abort-from-outside", "kill-ill-from-outside", "kill-over-namespace"],
    "cxx-exception": ["cxx-terminate", "cxx-throw-int", "cxx-throw-derived", "noexcept-throw"],
    "killed": ["killed-mid-record", "sigkill", "sigkill-with-child", "exec-again-with-child"],
    "handler-did-not-run": ["all-signals-blocked"],
    "stack-overflow": [
      "stack-overflow", "stack-overflow-small-thread", "sigaltstack-owned-by-app", "reraise-overflow",
    ],
  ]
  private static let swiftFailures: Set<CrashReport.Cause> = ["swift-fatal-error", "swift-runtime-failure"]

  /// Returns the causes that a report of the scenario is allowed to have.
  static func causes(of scenario: Scenario) -> Set<CrashReport.Cause> {
    // On x86-64, the compiler's trap instruction is an undefined instruction.
    if scenario.name == "undefined-instruction" && scenario.architecture != .x86_64 { return ["illegal-instruction"] }
    // Depending on the build, a failed Swift check has a message, or a reason that the compiler inlined into the debug
    // information. An optimized `precondition` has no message.
    if let cause = named.first(where: { $0.value.contains(scenario.name) }) {
      return swiftFailures.contains(cause.key) && scenario.isTrap ? swiftFailures : [cause.key]
    }
    if scenario.isTrap { return swiftFailures }
    // The remaining scenarios access memory through a null pointer.
    return ["null-pointer"]
  }
}

extension Scenario {
  /// Whether a trap instruction causes the crash.
  fileprivate var isTrap: Bool { reportedSignal == architecture.trapSignal }
}
