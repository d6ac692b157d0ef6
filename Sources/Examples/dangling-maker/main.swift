// dangling-maker KIND POLICY: accesses an object after its last release, and prints whether the access was recorded and
// what the access returned. If the access ends the process, the process does not print anything. `attached-slot` and
// `attached-crash` wait for crashd, then access an object in a guard slot, and continue or crash. `dangling-maker
// attached-freed` accesses an object that has left the quarantine. `dangling-maker scenario NAME POLICY` causes a
// realistic use-after-free, also without protection (`none`).
import CrashShield
import Glibc

nonisolated(unsafe) var objects: [AnyObject] = []
nonisolated(unsafe) var closures: [() -> Int] = []

/// Returns a reference to a deallocated object.
///
/// Not inlined, so that the optimizer cannot detect the deallocation.
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
if arguments.count == 2, arguments[1] == "attached-freed" {
  useAfterQuarantine()
  exit(0)
}
if arguments == [arguments[0], "--list-scenarios"] {
  for scenario in Scenario.allCases { print(scenario.rawValue) }
  exit(0)
}
if arguments.count == 4, arguments[1] == "scenario", let scenario = Scenario(rawValue: arguments[2]) {
  await run(scenario, under: arguments[3])
  exit(0)
}
guard arguments.count == 3, let kind = Kind(rawValue: arguments[1]), let policy = policies[arguments[2]] else {
  fail("usage: dangling-maker --list | KIND absorb|zero|diagnose|slot|attached-slot|attached-crash | attached-freed")
}

do {
  try Shield.protect(Session.self, Guest.self, Box<Int>.self, policy: policy)
} catch { fail("\(error)") }

reportQuarantine(await kind.use())
