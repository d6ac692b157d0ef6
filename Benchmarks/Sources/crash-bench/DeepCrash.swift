import CrashShield
import Dispatch
import Glibc

/// A crash below many function calls.
///
/// A child process of the benchmark crashes after crashd has received the ring.
enum DeepCrash {
  /// The number of nested calls.
  static let depth = 36
  /// The minimum ratio of two times: the time in which swift-backtrace prints this crash, to the time from the fault to
  /// the commit of the shield's record.
  static let leastRatio = 1000.0

  // Each function writes this variable after its call, which prevents tail calls. Only one thread uses it.
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
    // No memory is mapped at this address.
    UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
  }
}
