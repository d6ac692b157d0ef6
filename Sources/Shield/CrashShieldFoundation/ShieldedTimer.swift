internal import CrashShield
internal import CrashShieldGuards
public import Dispatch
internal import Synchronization

/// A repeating timer that does not retain its target.
///
/// Replaces a timer whose block retains `self`, or whose target can be deallocated while the timer ticks. If the
/// program did not cancel the timer before the target was deallocated, the next tick cancels the timer and records the
/// fault as `timer`. Releasing the `ShieldedTimer` does not stop the timer; `cancel` does.
///
/// ```swift
/// ShieldedTimer(every: .seconds(30), target: cache, on: queue) { $0.sweep() }
/// ```
///
/// An interval below a millisecond becomes one millisecond, and is also recorded as `timer`. Under `off` and `observe`,
/// the timer of a deallocated target continues to tick and does nothing. May be used from any thread.
public final class ShieldedTimer: Sendable {
  private struct State {
    var isSuspended = false
    var isCancelled = false
  }

  /// Sendable: the source is used only while the lock is held.
  private final class Source: @unchecked Sendable {
    let timer: any DispatchSourceTimer
    init(_ timer: any DispatchSourceTimer) { self.timer = timer }
  }

  private let source: Source
  private let state = Mutex(State())

  /// Starts a timer.
  @discardableResult
  public init<Target: AnyObject & Sendable>(
    every interval: Duration, leeway: Duration = .zero, target: Target, on queue: DispatchQueue = .global(),
    fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Target) -> Void
  ) {
    let site = ShieldSite(fileID: fileID, line: line)
    let period = Self.period(interval, site)
    let source = Source(DispatchSource.makeTimerSource(queue: queue))
    self.source = source
    source.timer.schedule(
      deadline: .now() + period, repeating: period, leeway: .nanoseconds(Self.nanoseconds(leeway)))
    // The event handler retains the source until the timer is cancelled.
    source.timer.setEventHandler { [weak target] in
      if let target { return body(target) }
      let isAbsorbed = Shield.handleFault(.timer, at: site) { "a \(Target.self) freed before its timer ended" }
      if isAbsorbed { source.timer.cancel() }
    }
    // Cancelling the timer releases the objects that the handlers retain.
    source.timer.setCancelHandler { source.timer.setEventHandler(handler: nil) }
    source.timer.activate()
  }

  /// Starts a timer whose body runs on an actor.
  ///
  /// A tick does not wait for the body of the previous tick: the actor runs the next body when it becomes free.
  @discardableResult
  public convenience init<Target: Actor>(
    every interval: Duration, leeway: Duration = .zero, target: Target, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (isolated Target) async -> Void
  ) {
    self.init(every: interval, leeway: leeway, target: target, on: .global(), fileID: fileID, line: line) { target in
      Task { await body(target) }
    }
  }

  deinit {
    // Cancel a suspended timer now, because no other code can cancel it later, and releasing a suspended source traps.
    if state.withLock({ $0.isSuspended }) { cancel() }
  }

  /// Cancels the timer; a second call has no effect.
  public func cancel() {
    state.withLock { state in
      state.isCancelled = true
      source.timer.cancel()
      if state.isSuspended { source.timer.resume() }
      state.isSuspended = false
    }
  }

  /// Suspends the timer until `resume`; a second call has no effect.
  public func suspend() {
    state.withLock { state in
      guard !state.isSuspended, !state.isCancelled else { return }
      state.isSuspended = true
      source.timer.suspend()
    }
  }

  /// Resumes the timer; has no effect if it is not suspended.
  public func resume() {
    state.withLock { state in
      guard state.isSuspended else { return }
      state.isSuspended = false
      source.timer.resume()
    }
  }

  /// Whether the timer was cancelled, by `cancel` or because its target was deallocated.
  public var isCancelled: Bool { state.withLock { _ in source.timer.isCancelled } }

  private static func period(_ interval: Duration, _ site: ShieldSite) -> DispatchTimeInterval {
    if interval < .milliseconds(1) {
      Shield.recordFault(.timer, at: site) { "an interval of \(nanoseconds(interval)) ns" }
      return .milliseconds(1)
    }
    return .nanoseconds(nanoseconds(interval))
  }

  private static func nanoseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    // Limit the seconds to about three centuries, because larger numbers of nanoseconds overflow.
    let limited = Swift.min(Swift.max(seconds, -1_000_000_000), 9_000_000_000)
    return Int(limited * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
