/// One way to crash, and what its report must say.
public struct Scenario: Sendable {
  /// What `crash-maker` is called with, such as `array-index`; also the `// fault: NAME` comment of its faulting line.
  public let name: String
  /// One line for people.
  public let summary: String
  /// The name of the signal that the process gets, such as `SIGILL`.
  public let signal: String
  /// What the report's reason must contain; empty where the runtime says nothing.
  public let reason: String
  /// What the name of the topmost own function must contain.
  public let function: String
  /// The functions that await the faulting one, innermost first.
  public let asyncCallers: [String]
  /// Whether the process leaves a report: false where it is killed before the record is complete.
  public let isReported: Bool
  /// What crashes.
  let fault: Fault

  /// How a scenario comes to its fault.
  enum Fault: Sendable {
    case synchronous(@Sendable () -> Void)
    case asynchronous(@Sendable () async -> Void)
  }

  init(
    _ name: String, _ signal: String, _ function: String, reason: String = "", summary: String,
    isReported: Bool = true, _ fault: @escaping @Sendable () -> Void
  ) {
    self.name = name
    self.summary = summary
    self.signal = signal
    self.reason = reason
    self.function = function
    self.isReported = isReported
    asyncCallers = []
    self.fault = .synchronous(fault)
  }

  init(
    _ name: String, _ signal: String, _ function: String, reason: String = "", summary: String,
    asyncCallers: [String], _ fault: @escaping @Sendable () async -> Void
  ) {
    self.name = name
    self.summary = summary
    self.signal = signal
    self.reason = reason
    self.function = function
    self.asyncCallers = asyncCallers
    isReported = true
    self.fault = .asynchronous(fault)
  }
}

extension Scenario {
  /// Every scenario, in the order in which `crash-maker --list` shows them.
  public static let all: [Scenario] = language + concurrency + memory + instructions + aborts + locks + deaths

  /// Whether it crashes in a Swift task, whatever thread was asked for.
  public var needsTask: Bool {
    if case .asynchronous = fault { true } else { false }
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
