import Glibc
import Synchronization
import TestKit

/// Measures time in which this process could run.
///
/// A thread of the test counts ticks. If the machine stalls, and with it the test and the program that it measures, the
/// count also stalls. Therefore a measured time shows that a program was slow, and not that the machine was.
enum Stopwatch {
  private static let tick_us: UInt32 = 10_000
  private static let ticks = Atomic<Int64>(0)

  /// Starts the thread at the first use.
  private static let isStarted: Bool = {
    var thread = pthread_t()
    // Invariant: the thread uses no argument, and runs until the process ends.
    return unsafe pthread_create(
      &thread, nil,
      { _ in
        while true {
          usleep(tick_us)
          ticks.add(1, ordering: .relaxed)
        }
      }, nil) == 0
  }()

  /// The time since some moment in the past.
  static var now: Duration {
    precondition(isStarted, "no thread for the stopwatch")
    return .microseconds(ticks.load(ordering: .relaxed) * Int64(tick_us))
  }
}
