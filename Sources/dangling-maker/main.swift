// dangling-maker KIND POLICY: uses an object after its last release, and says whether that was recorded and what came of it.
// A process that prints nothing has not survived. `attached-slot` and `attached-crash` wait for crashd first, then use an
// object in a guard slot and go on, or crash; `dangling-maker attached-ghost` one that has left the quarantine.
import CrashShield
import Glibc

nonisolated(unsafe) var objects: [AnyObject] = []
nonisolated(unsafe) var closures: [() -> Int] = []

/// A reference to an object that has gone; the optimizer does not know that it has.
@inline(never)
func dangling<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let object = make()
  unsafe objects.append(object)
  if let session = object as? Session { unsafe closures.append(capturing(session)) }
  return unsafe Unmanaged.passUnretained(object)
}

@inline(never)
func drop() { unsafe objects.removeAll() }

func fail(_ text: String) -> Never {
  let line = Array("dangling-maker: \(text)\n".utf8)
  _ = unsafe write(2, line, line.count)
  exit(2)
}

func report(_ names: Set<String>, value: String, stacks: Bool) {
  print("recorded=\(names.isEmpty ? "no" : names.sorted().joined(separator: ",")) value=\(value) stacks=\(stacks)")
}

let arguments = CommandLine.arguments
let policies: [String: DanglingPolicy] = ["absorb": .absorb, "zero": .zero, "diagnose": .diagnose]

if arguments.count == 2, arguments[1] == "--list" {
  for kind in Kind.allCases { print(kind.rawValue) }
  exit(0)
}
if arguments.count == 3, let kind = Kind(rawValue: arguments[1]), arguments[2] == "slot" {
  await useInSlot(kind)
  exit(0)
}
if arguments.count == 3, let kind = Kind(rawValue: arguments[1]), arguments[2].hasPrefix("attached-") {
  await useInSlot(kind, isFatal: arguments[2] == "attached-crash")
  exit(0)
}
if arguments.count == 2, arguments[1] == "attached-ghost" {
  useAfterQuarantine()
  exit(0)
}
guard arguments.count == 3, let kind = Kind(rawValue: arguments[1]), let policy = policies[arguments[2]] else {
  fail("usage: dangling-maker --list | KIND absorb|zero|diagnose|slot|attached-slot|attached-crash | attached-ghost")
}

do {
  try Shield.protect(Session.self, Guest.self, Box<Int>.self, policy: policy)
} catch { fail("\(error)") }

let number = await kind.use()
// What was written, or retained too often, is found when the object leaves.
let before = Shield.danglingIncidents()
Shield.drainQuarantine()
let incidents = Shield.danglingIncidents()
let names = Set(
  incidents.map { incident in
    switch incident.kind {
    case .call: "call"
    case .asyncCall: "async-call"
    case .overRelease: "over-release"
    case .retains: "retains"
    case .write: "write"
    case .handle: "handle"
    }
  })
let poison = (incidents + before).compactMap(\.record).map { 0xEFED << 32 | UInt64($0) }
let value =
  switch number {
  case nil: "none"
  case .some(let number) where poison.contains(UInt64(bitPattern: Int64(number)) >> 16): "poison"
  case .some(let number) where UInt64(bitPattern: Int64(number)) >> 48 == 0xEFED: "poison"
  case .some(let number): "\(number)"
  }
let stacks = incidents.allSatisfy { $0.record == nil || !$0.release.frames.isEmpty }
report(names, value: value, stacks: stacks)
