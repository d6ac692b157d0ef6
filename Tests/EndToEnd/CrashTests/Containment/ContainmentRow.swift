import Testing

/// A row of docs/containment-table.md: a way to trap, and what this trap must end in the mode `contain`.
struct ContainmentRow: Sendable, CustomTestStringConvertible {
  /// What a trap ends.
  enum Verdict: String {
    /// The trap ends only its request.
    case contain
    /// The trap ends the process when the other requests have finished.
    case drain
    /// The trap ends the process at once.
    case die
  }

  /// The name of the trap, a `Way` in the program containment-host.
  var way: String
  /// The description of the code that traps, for the table in the documentation.
  var trap: String
  var verdict: Verdict
  /// Why the trap is not contained, in the words of a report; `none` for the verdict `contain`.
  var reason: String
  /// Whether half of the other requests need an object or a lock that the trapped request holds.
  var hasDependents = false
  /// Whether the shield knows the request in which the trap occurs.
  var isRequestKnown = true

  var testDescription: String { way }

  /// The environment variables with which containment-host runs this row.
  var environment: [String: String] { way == "allocator" ? ["LD_PRELOAD": "libjemalloc.so.2"] : [:] }

  private static func contained(_ way: String, _ trap: String) -> Self {
    ContainmentRow(way: way, trap: trap, verdict: .contain, reason: "none")
  }

  private static func drained(_ way: String, _ trap: String, _ reason: String, isRequestKnown: Bool = true) -> Self {
    ContainmentRow(way: way, trap: trap, verdict: .drain, reason: reason, isRequestKnown: isRequestKnown)
  }

  private static func waited(_ way: String, _ trap: String, _ reason: String, isRequestKnown: Bool = true) -> Self {
    ContainmentRow(
      way: way, trap: trap, verdict: .drain, reason: reason, hasDependents: true, isRequestKnown: isRequestKnown)
  }

  private static func died(_ way: String, _ trap: String, _ reason: String) -> Self {
    ContainmentRow(way: way, trap: trap, verdict: .die, reason: reason)
  }

  static let all: [Self] = [
    contained("index", "an index out of range"),
    contained("deep", "an index out of range, 100 frames deep"),
    contained("fatal-error", "`fatalError`"),
    contained("precondition", "`precondition`"),
    contained("unwrap", "the forced unwrap of nil"),
    contained("overflow", "an arithmetic overflow"),
    contained("c-function", "`ud2` in a C function of the executable"),
    contained("after-sleep", "after `Task.sleep`"),
    contained("async-let", "in `async let`"),
    contained("group-child", "in a child task of a group"),
    contained("group-body", "in the body of a group"),
    contained("task", "in `Task {}` that the request awaits"),
    contained("deinit", "in `deinit`"),
    contained("sort", "in a closure of `sorted`"),
    contained("hash", "in `hash(into:)`"),
    contained("interpolation", "in `description`, called by a string interpolation"),
    contained("unfolding", "in the closure of `AsyncStream(unfolding:)`"),
    contained("unsafe-continuation", "in the body of `withUnsafeContinuation`"),
    contained("task-local", "in the async body of `TaskLocal.withValue`"),
    contained("cancellation-operation", "in the operation of `withTaskCancellationHandler`"),
    contained("measure-async", "in the async body of `Clock.measure`"),

    waited("mutex", "with a locked `Mutex` that other requests need", "waits"),
    waited("posix-mutex", "with a locked pthread mutex that other requests need", "waits"),
    waited("actor", "on an actor", "actor"),
    waited("actor-after-sleep", "on an actor, after `Task.sleep`", "actor"),
    waited("main-actor", "on the main actor", "actor"),
    waited("lazy-global", "while a lazy global is initialized", "lazyGlobal"),
    waited("metadata", "while the runtime initializes metadata that other requests need", "waits"),
    waited("event-loop", "on the thread of an event loop", "eventLoop", isRequestKnown: false),

    drained("deeper-than-the-unwind", "more than 256 frames deep", "deepStack"),
    drained("immediate", "in `Task.immediate`, above the frames of its caller", "concurrency"),
    drained("executor-preference", "on the program's own task executor", "concurrency"),
    drained("default-executor-preference", "on the default executor, as a task's preference", "concurrency"),
    drained("cancellation-handler", "in a cancellation handler", "concurrency"),
    drained("stream-termination", "in `onTermination` of an `AsyncStream`", "concurrency"),
    drained("measure", "in the synchronous body of `Clock.measure`", "concurrency"),
    drained("task-local-body", "in the synchronous body of `TaskLocal.withValue`, in a debug build", "concurrency"),
    drained("checked-continuation", "in the body of `withCheckedContinuation`, in a debug build", "concurrency"),
    drained("print", "in `description`, called by `print`", "stream"),
    drained("qsort", "in a callback of the C library", "libc"),
    drained("dispatch-sync", "in `DispatchQueue.sync`", "dispatch"),
    drained("dispatch-async", "in a block of Dispatch", "noTask", isRequestKnown: false),
    drained("thread", "on a thread of the program", "noTask", isRequestKnown: false),
    drained("detached", "in `Task.detached`", "noRequest", isRequestKnown: false),
    drained("outlives", "in a task that outlives its request", "noRequest", isRequestKnown: false),
    drained("gate", "in an `ExclusiveGate`", "shieldLock"),
    drained("allocator", "in a callback of the allocator (jemalloc)", "foreignCode"),

    died("foreign", "`ud2` in an image without Swift code", "foreignCode"),
    died("bad-access", "SIGSEGV", "notTrap"),
    died("abort", "SIGABRT", "notTrap"),
    died("forced-cast", "a forced cast, which aborts", "notTrap"),
    died("breakpoint", "SIGTRAP", "notTrap"),
    died("sent-signal", "a SIGILL that a process sent", "sent"),
    died("heap-message", "a trap after a message of the heap", "corrupt"),
    died("replaced-handler", "a trap while another handler of SIGILL calls the shield's", "replaced"),
  ]
}

extension ContainmentRow {
  /// The rows that can run on this machine.
  ///
  /// The shield reads /proc to find out for which lock a thread waits. Under emulation, /proc shows a system call of
  /// the emulator instead of the program's, so the rows that need /proc do not run.
  static var runnable: [Self] {
    all.filter { !(MatrixEmulation.isUsed && ["waits", "lazyGlobal"].contains($0.reason)) }
  }

  /// Formats docs/containment-table.md.
  static func table(requests: Int) -> String {
    let introduction = """
      # What a trap ends

      `make containment-table` writes this table, and ContainmentTests runs each row, with `contain` and without containment. \(requests)
      requests are in flight when another request traps. In each row whose outcome is not *contain*, the process ends with the signal that
      it would have without containment. The report then has the same message and the same request as without containment. In the mode
      `drain`, the outcome *contain* is replaced by *drain*. The tests run a debug build on two processors or more.

      | where or how a request traps | outcome | reason in the report | result of the trapped request | other requests |
      |---|---|---|---|---|

      """
    return introduction + all.map { "| \($0.cells(requests).joined(separator: " | ")) |\n" }.joined()
  }

  private func cells(_ requests: Int) -> [String] {
    let lost = "lost"
    let trapped =
      verdict == .die
      ? lost
      : isRequestKnown
        ? "error at once" : way == "outlives" ? "had ended before the trap" : "error at the end of the drain"
    let half = requests / 2
    let others =
      switch verdict {
      case .die: lost
      case .contain,
        .drain where !hasDependents:
        "\(requests) finish"
      case .drain: "\(half) finish; \(half) that need the same resource get an error"
      }
    return [trap, verdict.rawValue, reason == "none" ? "–" : "`\(reason)`", trapped, others]
  }
}
