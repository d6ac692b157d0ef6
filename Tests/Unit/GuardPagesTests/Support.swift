// What the tests of guard slots share. Each uses memory that it must not, so it does so in a process of its own.
import CrashShield
import CrashShieldGuardPages
import Glibc
import Synchronization

private let deinits = Atomic<Int>(0)

func deinitCount() -> Int { deinits.load(ordering: .sequentiallyConsistent) }

class Session {
  final var number = 7
  final var title = "seven"
  func greet() -> Int { number }
  deinit { deinits.add(1, ordering: .sequentiallyConsistent) }
}

/// As large as a `Session`.
final class Twin {
  var first = 1
  var second = 2
  var third = 3
}

/// Of another size than any class here.
final class Wide {
  var numbers: (Int, Int, Int, Int, Int, Int, Int, Int, Int) = (1, 2, 3, 4, 5, 6, 7, 8, 9)
}

/// Of 25 bytes.
final class Odd {
  var number = 1
  var isOdd = true
}

/// Elements behind its fields.
final class Elements: ManagedBuffer<Int, Int> {}

/// An exit status that says "the child got here and everything was right".
let right: Int32 = 42

/// Ends this child, saying which check failed and what was seen.
func check(_ condition: Bool, column: Int = #column, line: Int = #line) {
  if condition { return }
  let text = Array("check in \(line):\(column) failed: \(GuardPages.statistics), \(GuardPages.incidents())\n".utf8)
  _ = unsafe write(2, text, text.count)
  Glibc.exit(1)
}

/// Starts the shield without a daemon, and gives each object of the size of these classes a slot.
func start(_ types: AnyClass..., policy: GuardPages.Policy = .absorb, slots: Int = 256) {
  unsafe unsetenv("CRASHSHIELD_DISABLE")
  do {
    try Shield.startOrThrow(.init(socket: "/nonexistent/attach", spool: "/nonexistent"))
    GuardPages.configure(slots: slots, oneIn: 1)
    for type in types { try GuardPages.protect(type, policy: policy) }
  } catch {
    print("cannot start: \(error)")
    Glibc.exit(3)
  }
}

/// What keeps an object until it is dropped: the optimizer cannot know which.
nonisolated(unsafe) var kept: [AnyObject] = []

@inline(never)
func drop() { unsafe kept.removeAll() }

/// A dangling reference to a freed object.
@inline(never)
func dangling<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let reference = unsafe held(make)
  drop()
  return unsafe reference
}

/// A reference that does not count, to an object that `kept` has.
@inline(never)
func held<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let object = make()
  unsafe kept.append(object)
  return unsafe Unmanaged.passUnretained(object)
}

/// Does not begin an object: for `free`.
func address(_ pointer: UnsafeMutableRawPointer, plus offset: Int = 0) -> UnsafeMutableRawPointer {
  unsafe pointer + offset
}

/// `fork`, which Swift does not import.
@_silgen_name("fork")
func forkProcess() -> pid_t

/// `malloc_usable_size`, which is in a header that Swift does not import.
@_silgen_name("malloc_usable_size")
func usableSize(_ memory: UnsafeMutableRawPointer?) -> Int

/// How a child ended: its exit status, or minus its signal.
func end(of child: pid_t) -> Int32 {
  var status: Int32 = 0
  while unsafe waitpid(child, &status, 0) != child {}
  return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
}

/// Whether guard slots can be used at all in this build; the shield is not started in the test's own process.
let isInterposed: Bool = {
  guard let reason = GuardPages.unavailableReason else { return true }
  return reason.contains("not started")
}()
