internal import CShim
internal import Synchronization

// The mode of containment: what a Swift trap in a contained request ends.
extension Shield {
  /// What a Swift trap in a contained request ends: the process, or only the request.
  ///
  /// The mode applies to requests that `Shield.withContainedRequest` runs. In the modes `drain` and `contain`, a trap
  /// outside of these requests drains the process. When `withContainedRequest` throws, the server must answer the
  /// request with an error. The article <doc:ContainedRequests> states what containment cannot promise.
  public enum Containment: Sendable, Equatable {
    /// A trap ends the process at once. This mode is the default, and has no cost.
    case off
    /// A trap ends the process after the other requests in flight have finished.
    ///
    /// The trapped request throws `ShieldFault.trapped`. The shield calls `Configuration.onDrain`, in which the server
    /// must stop accepting connections. When the other requests have finished, the process ends by the signal of the
    /// trap. The drain takes at most the time `grace`. The drain ends earlier if, for the time `stall`, no request ends
    /// and no job begins on the pool, the shield's threads for Swift tasks.
    ///
    /// If `pool` is true, Swift tasks run on the pool, as with `contain`. Up to eight threads can then trap in the same
    /// drain. The default is true, because contained requests are not slower on the pool than on Dispatch.
    ///
    /// If `pool` is false or the pool is not available, Swift tasks run on threads of Dispatch. No thread then replaces
    /// a trapped thread, so the number of traps in a drain is limited to the number of processors minus one.
    case drain(grace: Duration = .seconds(10), stall: Duration = .seconds(3), pool: Bool = true)
    /// A trap ends its request, and the process continues until `budget` traps have happened. The next trap then drains
    /// the process.
    ///
    /// `budget` is 1 to 200. The budget also limits the traps that `Shield.isolated` contains; this limit is 16 in the
    /// other modes. Each trap keeps one thread with its stack and objects until the process ends.
    ///
    /// Swift tasks run on threads of the shield, one for each processor, instead of the threads of Dispatch. The main
    /// actor and custom executors keep their threads. `docs/measurements/containment.md` has the cost.
    case contain(budget: Int, grace: Duration = .seconds(10), stall: Duration = .seconds(3))
  }

  /// Whether the process drains: after a trap, it finishes the requests in flight, and then ends.
  ///
  /// If true, a server should close each connection after its response (`Connection: close`). This property may be read
  /// from any thread, which takes a nanosecond.
  public static var isDraining: Bool { cs_shim_containment_is_draining() }

  /// The program's `Configuration.onDrain`, which the C code calls at the beginning of a drain.
  private static let drainFunction = Mutex<(@Sendable () -> Void)?>(nil)

  /// The reason why the shield ignores `CRASHSHIELD_CONTAINMENT`; nil if the variable is valid or missing.
  static let containmentRefusal = Mutex<String?>(nil)

  /// Starts containment in the given mode.
  ///
  /// Precondition: the shield is started.
  static func startContainment(_ containment: Containment, onDrain: (@Sendable () -> Void)?) {
    guard var c = containment.cValue else { return }
    drainFunction.withLock { $0 = onDrain }
    // The C code calls `answer` once for each request whose caller must receive an error. Invariant: `continuation` has
    // the bits of the continuation that `withContainedRequest` passed to the C code, and the task that runs the work
    // does not resume this continuation afterwards.
    c.answer = { continuation, isTrap in
      let waiting = unsafe unsafeBitCast(UInt(continuation), to: UnsafeContinuation<Never, any Error>.self)
      unsafe waiting.resume(throwing: isTrap ? ShieldFault.trapped : ShieldFault.ended)
    }
    c.drain = { Shield.drainFunction.withLock { $0 }?() }
    // Invariant: the C function copies the structure. The result is not needed: if containment does not work,
    // `cs_shim_containment_obstacle()` returns the reason.
    _ = unsafe cs_shim_containment_start(&c)
    if case .contain(let budget, _, _) = containment { maximumContainedFaults = budget }
  }
}

extension Shield.Containment {
  /// The largest budget, which limits the threads that traps keep.
  private static let largestBudget = 200

  /// The mode in which containment starts, and, if `CRASHSHIELD_CONTAINMENT` is invalid, the reason why containment is
  /// off.
  typealias Choice = (mode: Self, refusal: String?)

  /// Returns the mode that `CRASHSHIELD_CONTAINMENT` sets; if the variable is not set, returns `self`.
  ///
  /// An invalid variable switches containment off. The variable does not prevent the start, because an operator who
  /// mistypes a mode must not lose the crash reports.
  ///
  /// - Throws: `badArgument` if the program's own budget or durations are out of range.
  func effective() throws(Shield.StartError) -> Choice {
    // Invariant: the C string stays valid while no code changes the environment.
    let variable = unsafe cs_shim_containment_variable().map { unsafe String(cString: $0) }
    guard let variable else {
      try checkBudget()
      try checkDurations()
      return (self, nil)
    }
    try checkDurations()
    if let mode = overridden(by: variable) { return (mode, nil) }
    return (
      .off, "CRASHSHIELD_CONTAINMENT is not off, drain or contain:N with a budget N of 1 to \(Self.largestBudget)"
    )
  }

  /// Returns the mode that `text`, the value of `CRASHSHIELD_CONTAINMENT`, names, with the durations of `self`; nil if
  /// `text` is invalid.
  private func overridden(by text: String) -> Self? {
    let prefix = "contain:"
    let (grace, stall) = durations
    if text == "off" { return .off }
    if text == "drain" {
      if case .drain = self { return self }
      return .drain(grace: grace, stall: stall)
    }
    if text.hasPrefix(prefix), let budget = Int(text.dropFirst(prefix.count)), 1...Self.largestBudget ~= budget {
      return .contain(budget: budget, grace: grace, stall: stall)
    }
    return nil
  }

  private var durations: (grace: Duration, stall: Duration) {
    switch self {
    case .off: Self.drain().durations
    case .drain(let grace, let stall, _), .contain(_, let grace, let stall): (grace, stall)
    }
  }

  private func checkBudget() throws(Shield.StartError) {
    if case .contain(let budget, _, _) = self, !(1...Self.largestBudget ~= budget) {
      throw .badArgument("the budget is not 1 to \(Self.largestBudget)")
    }
  }

  private func checkDurations() throws(Shield.StartError) {
    let range = Duration.zero...Duration.seconds(86_400)
    guard range.contains(durations.grace), range.contains(durations.stall) else {
      throw .badArgument("a duration of containment is not 0 to 1 day")
    }
  }

  /// The mode as a C structure in which the callbacks are not yet set; nil if containment is off.
  fileprivate var cValue: cs_shim_containment? {
    var c = cs_shim_containment()
    switch self {
    case .off: return nil
    case .drain(_, _, let pool):
      c.mode = .CS_SHIM_CONTAINMENT_DRAIN
      c.has_pool = pool
    case .contain(let budget, _, _):
      c.mode = .CS_SHIM_CONTAINMENT_CONTAIN
      c.budget = UInt32(budget)
      c.has_pool = true
    }
    c.grace_ns = durations.grace.wholeNanoseconds
    c.stall_ns = durations.stall.wholeNanoseconds
    return c
  }
}

extension Duration {
  /// Precondition: the duration is not negative, and at most a day.
  fileprivate var wholeNanoseconds: UInt64 {
    UInt64(components.seconds) * 1_000_000_000 + UInt64(components.attoseconds / 1_000_000_000)
  }
}
