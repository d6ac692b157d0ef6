// Code that the tests of guard pages share. Each test accesses freed memory or memory of other blocks, so it runs in
// its own process.
import CrashShield
import CrashShieldGuardPages
import Glibc
import Synchronization

private let deinits = Atomic<Int>(0)

/// The size of a slot and of a guard page, which is the page size of the kernel.
let pageBytes = sysconf(Int32(_SC_PAGESIZE))

func deinitCount() -> Int { deinits.load(ordering: .sequentiallyConsistent) }

class Session {
  final var number = 7
  final var title = "seven"
  func greet() -> Int { number }
  deinit { deinits.add(1, ordering: .sequentiallyConsistent) }
}

/// An object that has the size of a `Session`.
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

/// If the condition is false, prints which check failed and what the records contain, and ends this child.
func check(_ condition: Bool, column: Int = #column, line: Int = #line) {
  if condition { return }
  let text = Array("check in \(line):\(column) failed: \(GuardPages.statistics), \(GuardPages.incidents())\n".utf8)
  _ = unsafe write(2, text, text.count)
  Glibc.exit(1)
}

/// Starts the shield without crashd, and puts each object that has the size of one of these classes on a guard page.
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

/// Holds objects until a test drops them.
///
/// The optimizer cannot determine which objects these are.
nonisolated(unsafe) var kept: [AnyObject] = []

@inline(never)
func drop() { unsafe kept.removeAll() }

/// Creates and releases an object, and returns a dangling reference to it.
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

/// Returns an address to pass to `free`.
///
/// It is the start of an object only if `offset` is 0.
func address(_ pointer: UnsafeMutableRawPointer, plus offset: Int = 0) -> UnsafeMutableRawPointer {
  unsafe pointer + offset
}

/// `fork`, which Swift marks as unavailable.
@_silgen_name("fork")
func forkProcess() -> pid_t

/// The function `malloc_usable_size`, whose header Swift does not import.
@_silgen_name("malloc_usable_size")
func usableSize(_ memory: UnsafeMutableRawPointer?) -> Int

/// Waits until a child ends.
///
/// Returns its exit status, or the negative number of its signal.
func end(of child: pid_t) -> Int32 {
  var status: Int32 = 0
  while unsafe waitpid(child, &status, 0) != child {}
  return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
}

/// Whether malloc is interposed in this build, so that it can use guard pages at all.
///
/// The test's own process does not start the shield.
let isInterposed: Bool = {
  guard let reason = GuardPages.unavailableReason else { return true }
  return reason.contains("not started")
}()
