// Shared code of the guard slot tests. Each test accesses freed or foreign memory and therefore runs in its own
// process.
import CrashShield
import CrashShieldGuardPages
import Glibc
import Synchronization

private let deinits = Atomic<Int>(0)

/// The size of a slot and of a guard page, which is the kernel's page size.
let pageBytes = sysconf(Int32(_SC_PAGESIZE))

func deinitCount() -> Int { deinits.load(ordering: .sequentiallyConsistent) }

class Session {
  final var number = 7
  final var title = "seven"
  func greet() -> Int { number }
  deinit { deinits.add(1, ordering: .sequentiallyConsistent) }
}

/// An object as large as a `Session`.
final class Twin {
  var first = 1
  var second = 2
  var third = 3
}

/// An object whose size differs from the sizes of all other classes in this file.
final class Wide {
  var numbers: (Int, Int, Int, Int, Int, Int, Int, Int, Int) = (1, 2, 3, 4, 5, 6, 7, 8, 9)
}

/// An object of 25 bytes.
final class Odd {
  var number = 1
  var isOdd = true
}

/// An object with tail-allocated elements.
final class Elements: ManagedBuffer<Int, Int> {}

/// Ends this child if the condition is false, and prints which check failed and the contents of the records.
func check(_ condition: Bool, column: Int = #column, line: Int = #line) {
  if condition { return }
  let text = Array("check in \(line):\(column) failed: \(GuardPages.statistics), \(GuardPages.incidents())\n".utf8)
  _ = unsafe write(2, text, text.count)
  Glibc.exit(1)
}

/// Starts the shield without a daemon, and places each object of these classes' sizes in a slot.
func start(_ types: AnyClass..., policy: GuardPages.Policy = .absorb, slots: Int = 256) {
  unsafe unsetenv("CRASHSHIELD_DISABLE")
  do {
    try Shield.startOrThrow(.init(socket: "/dev/null/attach", spool: "/dev/null/spool"))
    GuardPages.configure(slots: slots, oneIn: 1)
    for type in types { try GuardPages.protect(type, policy: policy) }
  } catch {
    print("cannot start: \(error)")
    Glibc.exit(3)
  }
}

/// Holds objects until they are dropped.
///
/// The optimizer cannot determine which objects these are.
nonisolated(unsafe) var kept: [AnyObject] = []

@inline(never)
func drop() { unsafe kept.removeAll() }

/// Creates an object, releases it, and returns a dangling reference to it.
@inline(never)
func dangling<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let reference = unsafe held(make)
  drop()
  return unsafe reference
}

/// Creates an object that `kept` holds, and returns an unretained reference to it.
@inline(never)
func held<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let object = make()
  unsafe kept.append(object)
  return unsafe Unmanaged.passUnretained(object)
}

/// Returns an address for `free`.
///
/// The address is the start of an object only if `offset` is 0.
func address(_ pointer: UnsafeMutableRawPointer, plus offset: Int = 0) -> UnsafeMutableRawPointer {
  unsafe pointer + offset
}

/// `fork`, which Swift marks as unavailable.
@_silgen_name("fork")
func forkProcess() -> pid_t

/// The function `malloc_usable_size`, whose header Swift does not import.
@_silgen_name("malloc_usable_size")
func usableSize(_ memory: UnsafeMutableRawPointer?) -> Int

/// Waits for a child, and returns its exit status, or its signal as a negative number.
func end(of child: pid_t) -> Int32 {
  var status: Int32 = 0
  while unsafe waitpid(child, &status, 0) != child {}
  return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
}

/// Whether this build can use guard slots at all.
///
/// The shield is not started in the test's own process.
let isInterposed: Bool = {
  guard let reason = GuardPages.unavailableReason else { return true }
  return reason.contains("not started")
}()
