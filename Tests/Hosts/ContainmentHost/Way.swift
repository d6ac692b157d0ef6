internal import CTestKit
internal import CrashShield
internal import Glibc

/// A way in which a request traps, or crashes by another fault.
struct Way: Sendable {
  var name: String
  /// Prepares the process, before the shield starts.
  var prepare: @Sendable () -> Void = {}
  /// What the other requests do with an object or a lock of the trapped request, or nil if they need none.
  var depend: (@Sendable () async -> Void)?
  /// Traps.
  var trap: @Sendable () async throws -> Void

  init(
    _ name: String, prepare: @escaping @Sendable () -> Void = {}, depend: (@Sendable () async -> Void)? = nil,
    _ trap: @escaping @Sendable () async throws -> Void
  ) {
    self.name = name
    self.prepare = prepare
    self.depend = depend
    self.trap = trap
  }

  static let all = contained + waited + drained + died
}

/// Tells the other requests that the trap is about to occur.
func announce() { ch_add(CH_TRAPPING, 1) }

/// Traps, because an index is out of range.
@discardableResult
@inline(never)
func boom() -> Int {
  announce()
  let values = [1, 2, 3]
  return values[Int(getpid())]
}

/// Traps below many frames.
@inline(never)
func boom(below depth: Int) -> Int { depth == 0 ? boom() : boom(below: depth - 1) &* 3 &+ depth }

/// A C function pointer that traps, for C functions that take a callback without arguments.
let boomForC: @convention(c) () -> Void = { boom() }
