/// A crash scenario and the expectations of its report.
public struct Scenario: Sendable {
  /// The argument of `crash-maker`, such as `array-index`.
  public let name: String
  /// A one-line description.
  public let summary: String
  /// The name of the signal that ends the process, such as `SIGILL`; empty if it exits.
  public let signal: String
  /// The path to the fault.
  let fault: Fault

  /// The text that the report's reason must contain; empty without a runtime error message.
  public var reason = ""
  /// The same in an optimized program, if it differs.
  public var optimizedReason: String?
  /// The text that the name of the topmost in-app function must contain; empty if that is uncertain.
  public var function: String
  /// The functions that await the faulting one, innermost first.
  public var asyncCallers: [String] = []
  /// The name in the `// fault: NAME` comment of the faulting line: mostly `name`.
  public var mark: String
  /// The signal in the report, if the process ends otherwise.
  public var reportedSignal: String
  /// The number of crashing threads.
  public var crashedCount = 1
  /// Whether no handler sees it: the report has no threads, only the facts visible from outside.
  public var isSilentDeath = false
  /// The reason why there is no report; nil if there must be one.
  public var silence: String?
  /// Whether a child crashes: its pid is printed as `child PID`, and the report is the child's.
  public var isChildReported = false
  /// The exit code, if `signal` is empty.
  public var exitCode: Int32 = 0
  /// The text that the program must write to standard error.
  public var output = ""
  /// The threads on which it makes sense.
  public var threads = CrashRun.Thread.allCases
  /// The reason why gdb's frames may differ from the report's; nil if they must be equal.
  public var withoutDebugger: String?
  /// Whether it is one of many similar ones, which the ordinary end-to-end tests run together.
  public var isOfMany = false
  /// Whether only a debug build crashes.
  public var needsDebug = false
  /// Whether it needs the dynamic Swift library.
  public var needsDynamicLibrary = false
  /// Whether it allocates memory until the kernel ends it: only for a control group with a limit.
  public var needsMemoryLimit = false
  /// Whether it needs root.
  public var needsRoot = false
  /// Whether it must wait for the shield's connection state: afterwards there is no memory to connect.
  public var awaitsStatus = false
  /// Whether it is no crash, but an operation that the shield must not disturb.
  var isUndisturbed = false
  /// Whether its fault is in a call of the library, so that the program must link it.
  var callsLibrary = false
  /// Threads on which the report is known to be incomplete, with the reason.
  public var gap: Gap?
  /// The environment that the process needs at its start.
  public var environment: [String: String] = [:]
  /// Runs before the shield starts.
  var prepare: (@Sendable () -> Void)?

  /// The path of a scenario to its fault.
  enum Fault: Sendable {
    case synchronous(@Sendable () -> Void)
    case asynchronous(@Sendable () async -> Void)
    /// In the shield's callback, on the shield's own thread.
    case status(@Sendable () -> Void)
  }

  /// A known gap.
  public struct Gap: Sendable {
    /// The affected threads.
    public var threads: [CrashRun.Thread]
    /// The missing part.
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

  /// A known gap on all threads: there is no report today.
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
