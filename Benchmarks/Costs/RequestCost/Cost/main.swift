// request-cost WAY COUNT: makes COUNT calls, each in its own request (`Shield.withRequest`). WAY is `plain` (no
// request), `synchronous`, `asynchronous` or `trace` (asynchronous, with the IDs of a trace). One task makes all calls.
// Prints the nanoseconds of processor time and the number of allocations for each call, rounded up.
// scripts/measure/requests runs this program.
import Allocations
import CrashShield
import Glibc

enum Way: String {
  case plain, synchronous, asynchronous, trace
}

let id = "0123456789abcdef"
let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
let spanID = "00f067aa0ba902b7"

@inline(never) @_optimize(none) func opaque(_ number: Int) -> Int { number &+ 1 }

@inline(never) func work(_ number: Int) async -> Int { opaque(number) }

/// Makes the calls, and returns a number that depends on all of them.
func run(_ way: Way, _ count: Int) async -> Int {
  var sum = 0
  switch way {
  case .plain: for number in 0..<count { sum = await work(sum &+ number) }
  case .synchronous:
    for number in 0..<count { sum = Shield.withRequest("GET /cart/:id", id: id) { opaque(sum &+ number) } }
  case .asynchronous:
    for number in 0..<count {
      let next = sum &+ number
      sum = await Shield.withRequest("GET /cart/:id", id: id) { await work(next) }
    }
  case .trace:
    for number in 0..<count {
      let next = sum &+ number
      sum = await Shield.withRequest("GET /cart/:id", id: id, traceID: traceID, spanID: spanID) { await work(next) }
    }
  }
  return sum
}

func processorTime_ns() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Measures the calls, which all run on one thread, because no call suspends.
func measure(_ way: Way, _ count: Int) async -> (time_ns: UInt64, allocations: UInt) {
  // Makes some calls before the measurement. The first request of a process checks that the handler can find requests,
  // and the first task-local value of a task allocates memory for later values.
  _ = await run(way, 10)
  let (allocations, start_ns) = (allocation_count(), processorTime_ns())
  _ = await run(way, count)
  return (processorTime_ns() - start_ns, allocation_count() - allocations)
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let way = Way(rawValue: arguments[1]), let count = Int(arguments[2]), count > 0,
  Shield.start(configuration: .init(socket: "/dev/null/attach", spool: "/dev/null/spool")).isStarted
else { exit(2) }
let cost = await measure(way, count)
guard way == .plain || Shield.status.findsRequests == true else { exit(3) }
print(cost.time_ns / UInt64(count), (Int(cost.allocations) + count - 1) / count)
