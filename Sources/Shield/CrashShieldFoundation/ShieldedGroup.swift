internal import CrashShield
internal import CrashShieldGuards
public import Dispatch
internal import Synchronization

/// A dispatch group that handles unbalanced calls of `leave`.
///
/// Replaces `DispatchGroup`, for which an extra `leave` ends the process. This class records the extra `leave` as
/// `group`. If a group is deallocated before each `enter` was followed by a `leave`, this class makes the missing calls
/// of `leave` and records the fault. A `DispatchGroup` would leak in this case. Under `off` and `observe`, the guard
/// behaves like `DispatchGroup`. May be used from any thread.
public final class ShieldedGroup: Sendable {
  private let group = DispatchGroup()
  private let inside = Atomic<Int>(0)
  private let site: ShieldSite

  /// Creates a group without work.
  ///
  /// The call site appears in the record of a group that is deallocated before all work has left it.
  public init(fileID: StaticString = #fileID, line: UInt = #line) {
    site = ShieldSite(fileID: fileID, line: line)
  }

  deinit {
    let left = inside.load(ordering: .acquiring)
    guard left > 0, Shield.handleFault(.group, at: site, { "a group freed with \(left) inside" }) else { return }
    for _ in 0..<left { group.leave() }
  }

  /// Enters the group at the start of work.
  public func enter() {
    inside.add(1, ordering: .acquiringAndReleasing)
    group.enter()
  }

  /// Leaves the group at the end of work.
  ///
  /// - Returns: False if no work was in the group.
  @discardableResult
  public func leave(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    var count = inside.load(ordering: .acquiring)
    while count > 0 {
      let (isTaken, found) = inside.compareExchange(
        expected: count, desired: count - 1, ordering: .acquiringAndReleasing)
      if isTaken {
        group.leave()
        return true
      }
      count = found
    }
    let isAbsorbed = Shield.handleFault(.group, at: ShieldSite(fileID: fileID, line: line)) {
      "a group was left more often than entered"
    }
    if !isAbsorbed { group.leave() }
    return false
  }

  /// Waits until no work is in the group.
  ///
  /// - Returns: False after a timeout.
  public func wait(timeout: DispatchTime = .distantFuture) -> Bool { group.wait(timeout: timeout) == .success }

  /// Calls a function on a queue as soon as no work is in the group.
  public func notify(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    group.notify(queue: queue) { [self] in
      // Use `self`, so that the block retains the group until the call.
      _ = self
      body()
    }
  }
}

/// A semaphore that can be released while its value is below its initial value.
///
/// Replaces `DispatchSemaphore`, which ends the process in this case. This class records the fault as `source`. Under
/// `off` and `observe`, the guard behaves like `DispatchSemaphore`. May be used from any thread.
public final class ShieldedSemaphore: Sendable {
  private let semaphore: DispatchSemaphore
  private let taken = Atomic<Int>(0)
  private let site: ShieldSite

  /// Creates a semaphore with this initial value; a negative value becomes 0 and is recorded.
  public init(value: Int, fileID: StaticString = #fileID, line: UInt = #line) {
    let site = ShieldSite(fileID: fileID, line: line)
    self.site = site
    let isAbsorbed = value < 0 && Shield.handleFault(.source, at: site) { "a semaphore of \(value)" }
    semaphore = DispatchSemaphore(value: isAbsorbed ? 0 : value)
  }

  deinit {
    let missing = taken.load(ordering: .acquiring)
    guard missing > 0, Shield.handleFault(.source, at: site, { "a semaphore freed with \(missing) taken" }) else {
      return
    }
    for _ in 0..<missing { semaphore.signal() }
  }

  /// Increments the value of the semaphore.
  public func signal() {
    taken.subtract(1, ordering: .acquiringAndReleasing)
    semaphore.signal()
  }

  /// Waits while the value of the semaphore is 0, and then decrements the value.
  ///
  /// - Returns: False after a timeout.
  @discardableResult
  public func wait(timeout: DispatchTime = .distantFuture) -> Bool {
    guard semaphore.wait(timeout: timeout) == .success else { return false }
    taken.add(1, ordering: .acquiringAndReleasing)
    return true
  }
}

/// A dispatch source that the program can resume, suspend and release at any time.
///
/// A plain dispatch source ends the process if it is resumed twice, or released while it is suspended or was never
/// resumed. This class records both faults as `source`. A source that is released while it is suspended is cancelled
/// and resumed. Under `off` and `observe`, the guard behaves like the source itself. May be used from any thread.
public final class ShieldedSource: Sendable {
  private struct State {
    // True initially, because Dispatch creates a source suspended.
    var isSuspended = true
    var isCancelled = false
  }

  /// Sendable: the source is used only while the lock is held.
  private final class Source: @unchecked Sendable {
    let source: any DispatchSourceProtocol
    init(_ source: any DispatchSourceProtocol) { self.source = source }
  }

  private let source: Source
  private let state = Mutex(State())
  private let site: ShieldSite

  /// Takes ownership of a source that was never resumed.
  ///
  /// The call site appears in the record of a source that is released while it is suspended. Precondition: no other
  /// code resumes or suspends the source.
  public init(_ source: any DispatchSourceProtocol, fileID: StaticString = #fileID, line: UInt = #line) {
    self.source = Source(source)
    site = ShieldSite(fileID: fileID, line: line)
  }

  deinit {
    let isSuspended = state.withLock { $0.isSuspended }
    // If the fault is not absorbed, leave the source suspended: its release then traps, as without the guard.
    if isSuspended, !Shield.handleFault(.source, at: site, { "a source freed while suspended" }) { return }
    cancel()
  }

  /// Resumes the delivery of events.
  ///
  /// - Returns: False if the source is not suspended.
  @discardableResult
  public func resume(fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    let isResumed = state.withLock { state in
      guard state.isSuspended else { return false }
      state.isSuspended = false
      source.source.resume()
      return true
    }
    if isResumed { return true }
    let isAbsorbed = Shield.handleFault(.source, at: ShieldSite(fileID: fileID, line: line)) {
      "a source was resumed more often than suspended"
    }
    if !isAbsorbed { state.withLock { _ in source.source.resume() } }
    return false
  }

  /// Suspends the delivery of events until `resume`; a second call has no effect.
  public func suspend() {
    state.withLock { state in
      guard !state.isSuspended, !state.isCancelled else { return }
      state.isSuspended = true
      source.source.suspend()
    }
  }

  /// Cancels the source; a second call has no effect.
  public func cancel() {
    state.withLock { state in
      state.isCancelled = true
      source.source.cancel()
      if state.isSuspended { source.source.resume() }
      state.isSuspended = false
    }
  }
}
