// Measures the cost of guards in a package that depends on swift-crash-shield. Prints the instructions of each plain
// and each guarded operation (with callgrind), their times, and the nanoseconds of an absorbed fault.
import CrashShield
import CrashShieldGuards

let usage = "usage: guard-cost count|time|absorbed|absorbed-started TURNS"
guard CommandLine.arguments.count == 3, let turns = Int(CommandLine.arguments[2]), turns > 0 else { fail(usage) }

switch CommandLine.arguments[1] {
case "count":
  let input = Input(turns: turns)
  for operation in Operation.all { try operation.count(input) }
  // Prints the limit of each operation, for scripts/measure/guards.
  for operation in Operation.all { print(operation.limit, operation.name, separator: "\t") }
case "time":
  let input = Input(turns: turns)
  for operation in Operation.all where [.time, .timed].contains(operation.promise) {
    let time = try operation.time(input)
    let limit = operation.promise == .time ? "1.1" : "none"
    print(time.plain, time.guarded, limit, operation.name, separator: "\t")
  }
case "absorbed": print(absorbed(turns))
case "absorbed-started":
  try Shield.startOrThrow()
  print(absorbed(turns))
default: fail(usage)
}

/// Returns the nanoseconds of one absorbed fault: the minimum of many rounds.
///
/// So the first fault at the call site, which takes longer, does not count.
func absorbed(_ turns: Int) -> Int {
  let numbers = opaque([1, 2, 3])
  let nowhere = opaque(-1)
  var best = Int.max
  // Uses many short rounds, because other processes would interrupt a long round.
  for _ in 0..<400 {
    let start = now()
    for _ in 0..<turns { _ = opaque(numbers[shielded: nowhere]) }
    best = min(best, (now() - start) / turns)
  }
  return best
}

extension Operation {
  static let all =
    index + positions + ranges + changes + values + casts + numbers + checks + memory + services + foundation

  /// The limit of instructions as text: a multiple of the plain operation's instructions, or an absolute number of
  /// instructions.
  var limit: String {
    switch promise {
    case .time, .timed, .instructions: "3x"
    case .atMost(let count): "\(count)"
    }
  }
}
