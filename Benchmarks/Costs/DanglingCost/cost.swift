// cost WAY COUNT: performs the last release of COUNT objects, nine calls deep. scripts/measure/dangling runs this
// program under callgrind.
//
// WAY is `none` (no class is protected), `other` (another class is protected), or the number of the policy that
// protects the class of the objects. With an `s` after the number, the quarantine also records the stack of each last
// release. A stack has eight frames of this program and three of the runtime.
import Glibc

final class Victim {
  var first: Int
  var second: Int

  init(_ value: Int) {
    first = value
    second = value
  }
}

final class Other {
  var value = 1
}

final class Probe {
  var one = 1
  var two = 2
}

nonisolated(unsafe) var kept: AnyObject?

@inline(never)
func drop() { unsafe kept = nil }

/// Calls itself, so that the stack has eight frames of this program.
@inline(never)
func descend(_ depth: Int) {
  if depth == 0 { drop() } else { descend(depth - 1) }
  unsafe counter &+= 1
}

nonisolated(unsafe) var counter = 0

func metadata(_ type: AnyClass) -> UnsafeRawPointer { unsafe unsafeBitCast(type, to: UnsafeRawPointer.self) }

func require(_ condition: Bool) { if !condition { fatalError("cost: the quarantine does not work here") } }

let way = CommandLine.arguments[1]
let count = Int(CommandLine.arguments[2]) ?? 0
let depth = 5

let probe = Probe()
let instance = unsafe Unmanaged.passRetained(probe).toOpaque()
require(unsafe cs_quarantine_check(metadata(Probe.self), instance, 32))
cs_quarantine_set_stacks(way.hasSuffix("s"))
switch way.first {
case "n": break
case "o": require(unsafe cs_quarantine_list(metadata(Other.self), .CS_MODE_ABSORB, 50).rawValue == 0)
default:
  let policies: [Character: cs_mode] = [
    "0": .CS_MODE_ABSORB, "1": .CS_MODE_ZERO, "2": .CS_MODE_DIAGNOSE,
  ]
  guard let policy = way.first.flatMap({ policies[$0] }) else { fatalError("cost: no such way") }
  require(unsafe cs_quarantine_list(metadata(Victim.self), policy, 50).rawValue == 0)
}

/// Waits until at most 512 objects are in the quarantine or wait for the thread that runs deinits.
///
/// The quarantine admits no objects while the queue of this thread is full. The queue has 1,024 entries, so a call
/// after every 256 releases is enough. At this rate, the cost of the calls does not affect the result.
func keepPace() {
  var counts = unsafe cs_quarantine_counts()
  repeat {
    guard unsafe cs_quarantine_class(0, &counts) else { return }
    if unsafe counts.admitted > counts.evicted + 512 { usleep(1000) }
  } while unsafe counts.admitted > counts.evicted + 512
}

var address: UnsafeRawPointer?
for number in 0..<count {
  unsafe kept = Victim(number)
  if number == count - 1, let object = unsafe kept {
    unsafe address = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
  }
  descend(depth)
  if number % 256 == 0 { keepPace() }
}

// Checks that the quarantine has admitted all objects, and the stack of the last one if WAY asks for stacks.
if let number = Int(way.prefix(1)), number < 3 {
  var counts = unsafe cs_quarantine_counts()
  require(unsafe cs_quarantine_class(0, &counts))
  require(unsafe counts.admitted == UInt64(count))
  var liveness = unsafe cs_quarantine_liveness()
  unsafe cs_quarantine_ask(address, &liveness)
  // The stack has eight frames of this program, and at least one of the runtime.
  require(unsafe !way.hasSuffix("s") || liveness.free.count > depth + 3)
}
