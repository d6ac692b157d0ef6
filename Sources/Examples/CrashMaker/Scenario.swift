/// A crash scenario, and the expected contents of its report.
public struct Scenario: Sendable {
  /// The argument of `crash-maker`, such as `array-index`.
  public let name: String
  /// A one-line description.
  public let summary: String
  /// The name of the signal that ends the process, such as `SIGILL`, or empty if the process exits.
  public internal(set) var signal: String
  /// The architecture to which the signals belong.
  public internal(set) var architecture = Architecture.x86_64
  /// How the scenario reaches its fault.
  let fault: Fault

  /// A string that the report's reason must contain; empty if there is no runtime error message.
  public var reason = ""
  /// The string that the report's reason must contain in an optimized program, if it differs from the string in a debug
  /// build.
  public var optimizedReason: String?
  /// A string that the name of the innermost in-app function must contain; empty if that function is uncertain.
  public var function: String
  /// The functions that await the faulting function, innermost first.
  public var asyncCallers: [String] = []
  /// The name in the `// fault: NAME` comment of the faulting line, in most cases `name`.
  public var mark: String
  /// The signal in the report, if the process ends by another signal.
  public var reportedSignal: String
  /// The number of crashing threads.
  public var crashedCount = 1
  /// Whether the process ends without running a signal handler.
  ///
  /// For such a process, the report does not have threads, but only facts that are visible from outside.
  public var isSilentDeath = false
  /// The reason why there is no report, or nil if there must be one.
  public var silence: String?
  /// Whether a child of the process crashes.
  ///
  /// The program prints the child's pid as `child PID`, and the report describes the child.
  public var isChildReported = false
  /// The exit code, if `signal` is empty.
  public var exitCode: Int32 = 0
  /// The string that the program must write to standard error.
  public var output = ""
  /// The threads on which the scenario can run.
  public var threads = CrashRun.Thread.allCases
  /// The reason why the frames that gdb finds can differ from the report's frames; nil if they must be equal.
  public var withoutDebugger: String?
  /// Whether the scenario is one of many similar scenarios, which the ordinary end-to-end tests run together.
  public var isOfMany = false
  /// Whether only a debug build crashes.
  public var needsDebug = false
  /// Whether the scenario needs the dynamic Swift library.
  public var needsDynamicLibrary = false
  /// Whether the scenario allocates memory until the kernel kills it.
  ///
  /// Such a scenario must run in a control group with a memory limit.
  public var needsMemoryLimit = false
  /// Whether the scenario needs root.
  public var needsRoot = false
  /// Whether the scenario must first wait until the shield is connected.
  ///
  /// Such a scenario uses up the memory that connecting needs.
  public var awaitsStatus = false
  /// Whether the scenario is not a crash, but an operation that the shield must not disturb.
  var isUndisturbed = false
  /// Whether the fault is in a call of the CrashShield library, so that the program must link it.
  var callsLibrary = false
  /// The threads on which the report is known to be incomplete, and the reason.
  public var gap: Gap?
  /// The environment variables that the process needs when it starts.
  public var environment: [String: String] = [:]
  /// A function that runs before the shield starts.
  var prepare: (@Sendable () -> Void)?

  /// The code that causes the fault of a scenario, and where it runs.
  enum Fault: Sendable {
    case synchronous(@Sendable () -> Void)
    case asynchronous(@Sendable () async -> Void)
    /// The fault happens in the shield's callback, on the shield's own thread.
    case status(@Sendable () -> Void)
  }

  /// A known gap in the report.
  public struct Gap: Sendable {
    /// The threads whose report has the gap.
    public var threads: [CrashRun.Thread]
    /// The part of the report that is missing, and why.
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

  /// Marks a known gap on all threads: the scenario currently does not have a report.
  mutating func lacks(_ reason: String) {
    gap = Gap(threads: threads, reason: reason)
    silence = reason
  }

  /// Marks that any line of the function can be the faulting line.
  func withoutLine() -> Scenario { with { $0.mark = "" } }

  /// Returns a copy of the scenario, modified by `change`.
  func with(_ change: (inout Scenario) -> Void) -> Scenario {
    var changed = self
    change(&changed)
    return changed
  }
}

extension Scenario {
  /// All scenarios of this program's architecture, in the order of `crash-maker --list`.
  public static let all = all(on: .current)

  /// The scenarios of all architectures, with the signals that are expected on x86-64.
  static let everywhere: [Scenario] =
    language + checks + frames + dispatch + concurrency + memory + instructions + aborts + cxx + heap + stacks + locks
    + loader + threads + waits
    + processes + handlers + raisedAgain + world + dangling + deaths + undisturbed + warnedBefore + lineZero

  /// The scenarios whose fault is in C or C++ code, which crash reporters for C and C++ can also report.
  public static let native: [Scenario] = {
    let names = Set(allNative.map(\.name))
    return all.filter { names.contains($0.name) }
  }()

  private static let allNative: [Scenario] =
    memory + instructions + aborts + cxx + heap + stacks + locks + loader + threads + waits + processes + handlers
    + raisedAgain
    + world

  /// Whether the scenario must produce a report.
  public var isReported: Bool { silence == nil }

  /// Whether the scenario cannot be tested with a preloaded shield.
  ///
  /// A preloaded shield starts before the program's main(), and the program cannot query whether crashd has accepted
  /// the process.
  public var needsLibrary: Bool {
    let isCallback = if case .status = fault { true } else { false }
    return (prepare != nil && !isUndisturbed) || awaitsStatus || isSilentDeath || isCallback || callsLibrary
  }

  /// Returns the scenario with this name.
  public static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }

  /// Returns the scenario whose name is most similar to `name`, for "did you mean".
  public static func nearest(to name: String) -> String {
    all.map { (name: $0.name, edits: editDistance(name, $0.name)) }.min { $0.edits < $1.edits }?.name ?? ""
  }
}

/// Computes Levenshtein's distance, row by row.
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
