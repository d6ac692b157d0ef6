// Crashes in processes with many threads. The functions are in CCrashMaker.
internal import CCrashMaker
internal import Glibc

extension Scenario {
  static let threads =
    [
      simultaneous(2, cs_fault_simultaneous_2), simultaneous(8, cs_fault_simultaneous_8),
      simultaneous(64, cs_fault_simultaneous_64),
    ]
    + [
      c("many-threads", "SIGSEGV", "crash among 1000 idle threads", cs_fault_many_threads).patient(),
      c("spinning-threads", "SIGSEGV", "crash among 100 busy threads", cs_fault_spinning_threads).patient(),
      c(
        "blocked-signals-thread", "SIGSEGV", "crash beside a thread that blocks all signals",
        cs_fault_blocked_signals_thread),
      c(
        "uninterruptible-thread", "SIGSEGV", "crash beside a thread that waits for its vfork child",
        cs_fault_uninterruptible_thread
      ).with { $0.withoutDebugger = "gdb waits for the uninterruptible thread" },
      c(
        "crash-while-creating-threads", "SIGSEGV", "crash while other threads make threads",
        cs_fault_crash_while_creating_threads),
      c(
        "watchdog-abort", "SIGABRT", "be aborted by a watchdog thread", function: "cs_fault_watch",
        cs_fault_watchdog_abort),
    ]

  private static func simultaneous(
    _ count: Int, _ fault: @escaping @Sendable @convention(c) () -> Void
  ) -> Scenario {
    c("simultaneous-\(count)", "SIGSEGV", "crash on \(count) threads at once", function: "cs_fault_together", fault)
      .with {
        $0.crashedCount = count
        $0.mark = "simultaneous"
        $0.withoutDebugger = "gdb stops at one of the crashing threads"
      }
  }

  /// Sets the maximum timeout of the thread sweep, because the threads can answer late on a busy machine.
  private func patient() -> Scenario {
    // Invariant: no other thread accesses the environment before the shield starts.
    with { $0.prepare = { _ = unsafe setenv("CRASHSHIELD_SWEEP_MS", "800", 1) } }
  }
}
