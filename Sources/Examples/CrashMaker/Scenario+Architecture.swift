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

  /// The signal that a trap instruction raises; each failed check of Swift executes a trap instruction.
  public var trapSignal: String { self == .x86_64 ? "SIGILL" : "SIGTRAP" }
}

extension Scenario {
  /// Returns all scenarios that exist on an architecture, each with the signal that ends the process there.
  ///
  /// A program that runs on one architecture can therefore check crashes that happened on the other architecture.
  public static func all(on architecture: Architecture) -> [Scenario] {
    everywhere.compactMap { $0.on(architecture) }
  }

  /// Returns this scenario with its expected signals adapted to an architecture; nil if the fault does not exist there.
  ///
  /// The tables of scenarios contain the signals that are expected on x86-64.
  private func on(_ architecture: Architecture) -> Scenario? {
    var scenario = self
    scenario.architecture = architecture
    if architecture == .x86_64 { return scenario }
    switch name {
    // On AArch64, an integer division by zero returns 0 and raises no fault.
    case "float-divide": return nil
    // These scenarios do not crash by a trap instruction, so their signals are the same on AArch64.
    case "undefined-instruction", "kill-ill-from-outside": return scenario
    // abort() ends with a trap instruction if its signal does not end the process; on x86-64 with a privileged one.
    case "abort-as-pid-1": scenario.signal = architecture.trapSignal
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
