/// One way to crash, and what its report must say.
public struct Scenario: Sendable {
  /// What `crash-maker` is called with, such as `array-index`.
  public let name: String
  /// One line for people.
  public let summary: String
  /// The name of the signal that ends the process, such as `SIGILL`; empty where it exits.
  public let signal: String
  /// What comes to the fault.
  let fault: Fault

  /// What the report's reason must contain; empty where the runtime says nothing.
  public var reason = ""
  /// The same in an optimized program, where it differs.
  public var optimizedReason: String?
  /// What the name of the topmost own function must contain; empty where none is certain.
  public var function: String
  /// The functions that await the faulting one, innermost first.
  public var asyncCallers: [String] = []
  /// The name in the `// fault: NAME` comment of the faulting line: mostly `name`.
  public var mark: String
  /// The signal in the report, where the process ends otherwise.
  public var reportedSignal: String
  /// How many threads crash.
  public var crashedCount = 1
  /// Whether no handler sees it: the report has no threads and says what was seen from outside.
  public var isSilentDeath = false
  /// Why there is no report; nil where there must be one.
  public var silence: String?
  /// Whether a child crashes: its pid is printed as `child PID`, and the report is the child's.
  public var isChildReported = false
  /// What the process exits with, where `signal` is empty.
  public var exitCode: Int32 = 0
  /// What the program must have written to standard error.
  public var output = ""
  /// The threads on which it makes sense.
  public var threads = CrashRun.Thread.allCases
  /// Why gdb's frames cannot be compared with the report's; nil where they must be equal.
  public var withoutDebugger: String?
  /// Whether it is one of many alike, which the ordinary end-to-end tests run together and not each on its own.
  public var isOfMany = false
  /// Whether only a debug build crashes.
  public var needsDebug = false
  /// Whether it needs the dynamic Swift library.
  public var needsDynamicLibrary = false
  /// Whether it eats memory until the kernel ends it: only for a control group with a limit.
  public var needsMemoryLimit = false
  /// Whether only root can do it.
  public var needsRoot = false
  /// Whether the shield's thread must have told whether there is a crashd: it would not find the memory for it any more.
  public var awaitsStatus = false
  /// Whether it is no crash, but what a program does that must not see the shield.
  var isUndisturbed = false
  /// Whether its fault is a call of the library's, so that it takes a program that links it.
  var callsLibrary = false
  /// Threads on which the report is known to lack something, and the reason.
  public var gap: Gap?
  /// What must be set in the environment when the process begins.
  public var environment: [String: String] = [:]
  /// Runs before the shield starts.
  var prepare: (@Sendable () -> Void)?

  /// How a scenario comes to its fault.
  enum Fault: Sendable {
    case synchronous(@Sendable () -> Void)
    case asynchronous(@Sendable () async -> Void)
    /// In the shield's callback, on the shield's own thread.
    case status(@Sendable () -> Void)
  }

  /// What is not built yet.
  public struct Gap: Sendable {
    /// Where it shows.
    public var threads: [CrashRun.Thread]
    /// What is missing.
    public var reason: String
  }

  init(_ name: String, _ signal: String, _ function: String, reason: String = "", summary: String, fault: Fault) {
    self.name = name
    self.summary = summary
    self.signal = signal
    self.function = function
    self.fault = fault
    self.reason = reason
    mark = name
    reportedSignal = signal
  }

  init(
    _ name: String, _ signal: String, _ function: String, reason: String = "", summary: String,
    _ fault: @escaping @Sendable () -> Void
  ) {
    self.init(name, signal, function, reason: reason, summary: summary, fault: .synchronous(fault))
  }

  init(
    _ name: String, _ signal: String, _ function: String, reason: String = "", summary: String,
    asyncCallers: [String], _ fault: @escaping @Sendable () async -> Void
  ) {
    self.init(name, signal, function, reason: reason, summary: summary, fault: .asynchronous(fault))
    self.asyncCallers = asyncCallers
    threads = [.task]
  }

  /// What is not built yet on any thread: no report comes of it today.
  mutating func lacks(_ reason: String) {
    gap = Gap(threads: threads, reason: reason)
    silence = reason
  }

  /// The same where any line of the function may be the one that faults.
  func withoutLine() -> Scenario { with { $0.mark = "" } }

  /// The same with what is special about it.
  func with(_ change: (inout Scenario) -> Void) -> Scenario {
    var changed = self
    change(&changed)
    return changed
  }
}

extension Scenario {
  /// Every scenario, in the order in which `crash-maker --list` shows them.
  public static let all: [Scenario] =
    language + checks + frames + dispatch + concurrency + memory + instructions + aborts + cxx + heap + stacks + locks
    + loader + threads + waits
    + processes + handlers + raisedAgain + world + dangling + deaths + undisturbed + warnedBefore + lineZero

  /// Those whose fault is made in C or C++, of which reporters for those languages can know too.
  public static let native: [Scenario] =
    memory + instructions + aborts + cxx + heap + stacks + locks + loader + threads + waits + processes + handlers
    + raisedAgain
    + world

  /// Whether a report must come of it.
  public var isReported: Bool { silence == nil }

  /// Whether it says nothing with a preloaded shield, which starts before the program does anything, and which the program
  /// cannot ask whether crashd has accepted it.
  public var needsLibrary: Bool {
    let isCallback = if case .status = fault { true } else { false }
    return (prepare != nil && !isUndisturbed) || awaitsStatus || isSilentDeath || isCallback || callsLibrary
  }

  /// The scenario of that name.
  public static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }

  /// The scenario whose name takes the fewest edits to become `name`, for "did you mean".
  public static func nearest(to name: String) -> String {
    all.map { (name: $0.name, edits: editDistance(name, $0.name)) }.min { $0.edits < $1.edits }?.name ?? ""
  }
}

/// Levenshtein's distance, row by row.
func editDistance(_ left: String, _ right: String) -> Int {
  let right = Array(right)
  var row = Array(0...right.count)
  for (i, character) in left.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in right.enumerated() {
      let replaced = diagonal + (character == other ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
    }
  }
  return row[right.count]
}
