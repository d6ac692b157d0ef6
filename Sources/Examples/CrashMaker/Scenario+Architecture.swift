/// A processor architecture on which the scenarios run.
public enum Architecture: String, Sendable {
  case x86_64, aarch64

  #if arch(arm64)
    /// The architecture of this program.
    public static let current = Architecture.aarch64
  #else
    /// The architecture of this program.
    public static let current = Architecture.x86_64
  #endif

  /// The signal of a trap instruction, with which each failed check of Swift ends.
  public var trapSignal: String { self == .x86_64 ? "SIGILL" : "SIGTRAP" }
}

extension Scenario {
  /// All scenarios that exist on an architecture, with the signals with which they end there.
  ///
  /// A program that was built for one architecture can therefore judge the crashes of another.
  public static func all(on architecture: Architecture) -> [Scenario] {
    everywhere.compactMap { $0.on(architecture) }
  }

  /// Returns the scenario with the signals of an architecture, or nil if the fault does not exist on the architecture.
  ///
  /// The tables of scenarios name the signals of x86-64.
  private func on(_ architecture: Architecture) -> Scenario? {
    var scenario = self
    scenario.architecture = architecture
    if architecture == .x86_64 { return scenario }
    switch name {
    // On AArch64, an integer division by zero returns 0 and raises no fault.
    case "float-divide": return nil
    // A trap instruction does not cause the signals of these scenarios, so the signals are the same on AArch64.
    case "undefined-instruction", "kill-ill-from-outside": return scenario
    // Only x86-64 raises SIGSEGV for a privileged instruction.
    case "privileged-instruction": scenario.setSignals { _ in "SIGILL" }
    default: scenario.setSignals { $0 == "SIGILL" ? architecture.trapSignal : $0 }
    }
    return scenario
  }

  private mutating func setSignals(_ change: (String) -> String) {
    signal = change(signal)
    reportedSignal = change(reportedSignal)
  }
}
