import CrashMaker

extension Expectation {
  /// Returns the expected values of `si_code`, by scenario or, for other scenarios, by signal.
  static func codes(of scenario: Scenario) -> Set<String> {
    // glibc overwrites the start of a freed block, so the faulting address can be canonical or non-canonical.
    if freed.contains(scenario.name) { return ["SEGV_MAPERR", "SI_KERNEL"] }
    return switch scenario.name {
    case "read-only-write", "no-exec-jump": ["SEGV_ACCERR"]
    // The memory below a stack is a guard page, or is not mapped.
    case "stack-overflow", "stack-overflow-small-thread", "sigaltstack-owned-by-app", "reraise-overflow":
      ["SEGV_MAPERR", "SEGV_ACCERR"]
    case "non-canonical", "inside-malloc", "privileged-instruction":
      scenario.architecture == .x86_64 ? ["SI_KERNEL"] : codes(of: scenario.reportedSignal, on: scenario.architecture)
    case "kill-from-outside", "kill-abort-from-outside", "kill-ill-from-outside", "kill-over-namespace",
      "sent-abort-in-new":
      ["SI_USER"]
    case "raise": ["SI_TKILL"]
    default: codes(of: scenario.reportedSignal, on: scenario.architecture)
    }
  }

  static func sender(of scenario: Scenario) -> Sender {
    if scenario.name == "kill-over-namespace" { return .invisible }
    if scenario.name.hasPrefix("kill-") { return .another }
    return scenario.name == "raise" || scenario.reportedSignal == "SIGABRT" ? .itself : .kernel
  }

  private static func codes(of signal: String, on architecture: Architecture) -> Set<String> {
    switch signal {
    case "SIGILL": [architecture == .x86_64 ? "ILL_ILLOPN" : "ILL_ILLOPC"]
    case "SIGABRT": ["SI_TKILL"]
    case "SIGBUS": ["BUS_ADRERR"]
    case "SIGTRAP": [architecture == .x86_64 ? "SI_KERNEL" : "TRAP_BRKPT"]
    case "SIGFPE": ["FPE_INTDIV"]
    case "SIGSYS": ["SYS_SECCOMP"]
    default: ["SEGV_MAPERR"]
    }
  }
}
