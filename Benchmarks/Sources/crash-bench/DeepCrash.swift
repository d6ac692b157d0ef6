import CrashShield
import Dispatch
import Glibc

/// A crash many functions deep: made by the benchmark itself, in a child, once crashd holds the ring.
enum DeepCrash {
  /// As deep as the stacks for which a time is promised.
  static let depth = 36
  /// What is promised, in microseconds.
  static let limit = 100.0

  // Written after each call, so that no call is the last act of its function. One thread only.
  nonisolated(unsafe) private static var reached = 0

  /// Starts the shield, waits until it is attached, and crashes.
  static func run() throws {
    let attached = DispatchSemaphore(value: 0)
    try Shield.startOrThrow(
      Shield.Configuration { status in
        if status.connection == .attached { attached.signal() }
      })
    guard attached.wait(timeout: .now() + 5) == .success else { throw BenchmarkFailure(what: "not attached") }
    descend(depth)
  }

  @inline(never) private static func descend(_ depth: Int) {
    if depth == 0 { fault() } else { descend(depth - 1) }
    reached = depth
  }

  @inline(never) private static func fault() {
    Shield.setTag("fault-monotonic-ns", to: String(monotonicNow_ns()))
    // Nothing is mapped there.
    UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
  }
}
