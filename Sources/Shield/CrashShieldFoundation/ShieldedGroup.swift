internal import CrashShield
internal import CrashShieldGuards
public import Dispatch
internal import Synchronization

/// A group of work that may be left more often than it was entered.
///
/// In place of `DispatchGroup`, where that ends the process. It is recorded as `group`. `off` and `observe`: as `DispatchGroup`. A group
/// that goes while work is in it is left for that work, which is recorded, too; `DispatchGroup`, as `off` and `observe`, stays
/// in memory for ever. Any thread.
public final class ShieldedGroup: Sendable {
  private let group = DispatchGroup()
  private let inside = Atomic<Int>(0)
  private let site: ShieldSite

  /// A group without work; that it goes while work is in it is recorded for this place.
  public init(fileID: StaticString = #fileID, line: UInt = #line) {
    site = ShieldSite(fileID: fileID, line: line)
  }

  deinit {
    let left = inside.load(ordering: .acquiring)
    guard left > 0, Shield.handleFault(.group, at: site, { "a group went with \(left) inside" }) else { return }
    for _ in 0..<left { group.leave() }
  }

  /// Work has begun.
  public func enter() {
    inside.add(1, ordering: .acquiringAndReleasing)
    group.enter()
  }

  /// Work has ended.
  ///
  /// - Returns: False when there was none.
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

  /// Waits until no work is inside.
  ///
  /// - Returns: False when the time was over before.
  public func wait(timeout: DispatchTime = .distantFuture) -> Bool { group.wait(timeout: timeout) == .success }

  /// Has a function called on a queue as soon as no work is inside.
  public func notify(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    group.notify(queue: queue) { [self] in
      // Until then the group stays.
      _ = self
      body()
    }
  }
}

/// A semaphore that may go while somebody has taken from it.
///
/// In place of `DispatchSemaphore`, which ends the process when it goes with less than it began with. That it did is recorded as
/// `source`. `off` and `observe`: as `DispatchSemaphore`. Any thread.
public final class ShieldedSemaphore: Sendable {
  private let semaphore: DispatchSemaphore
  private let taken = Atomic<Int>(0)
  private let site: ShieldSite

  /// A semaphore with so many to take; none where the count is below zero, which is recorded.
  public init(value: Int, fileID: StaticString = #fileID, line: UInt = #line) {
    let site = ShieldSite(fileID: fileID, line: line)
    self.site = site
    let isAbsorbed = value < 0 && Shield.handleFault(.source, at: site) { "a semaphore of \(value)" }
    semaphore = DispatchSemaphore(value: isAbsorbed ? 0 : value)
  }

  deinit {
    let missing = taken.load(ordering: .acquiring)
    guard missing > 0, Shield.handleFault(.source, at: site, { "a semaphore went with \(missing) taken" }) else {
      return
    }
    for _ in 0..<missing { semaphore.signal() }
  }

  /// Gives one back.
  public func signal() {
    taken.subtract(1, ordering: .acquiringAndReleasing)
    semaphore.signal()
  }

  /// Takes one, and waits for it where there is none.
  ///
  /// - Returns: False when the time was over before.
  @discardableResult
  public func wait(timeout: DispatchTime = .distantFuture) -> Bool {
    guard semaphore.wait(timeout: timeout) == .success else { return false }
    taken.add(1, ordering: .acquiringAndReleasing)
    return true
  }
}

/// A source of events that may be resumed, suspended and let go at any time.
///
/// In place of a dispatch source, which ends the process when it is resumed twice, or released while it is suspended or was
/// never resumed. Both are recorded as `source`; one that goes while it is suspended is cancelled and resumed. `off` and
/// `observe`: as the source itself. Any thread.
public final class ShieldedSource: Sendable {
  private struct State {
    // As Dispatch makes them.
    var isSuspended = true
    var isCancelled = false
  }

  /// The source is touched under the lock only.
  private final class Source: @unchecked Sendable {
    let source: any DispatchSourceProtocol
    init(_ source: any DispatchSourceProtocol) { self.source = source }
  }

  private let source: Source
  private let state = Mutex(State())
  private let site: ShieldSite

  /// Takes a source over that has been made and not been resumed; nobody else may resume or suspend it any more.
  ///
  /// That it goes while it is suspended is recorded for this place.
  public init(_ source: any DispatchSourceProtocol, fileID: StaticString = #fileID, line: UInt = #line) {
    self.source = Source(source)
    site = ShieldSite(fileID: fileID, line: line)
  }

  deinit {
    let isSuspended = state.withLock { $0.isSuspended }
    // Without the guard, the source's release is what follows.
    if isSuspended, !Shield.handleFault(.source, at: site, { "a source went while it was suspended" }) { return }
    cancel()
  }

  /// Has it deliver events.
  ///
  /// - Returns: False when it does already.
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

  /// Has it deliver none until `resume`; again is without effect.
  public func suspend() {
    state.withLock { state in
      guard !state.isSuspended, !state.isCancelled else { return }
      state.isSuspended = true
      source.source.suspend()
    }
  }

  /// Ends it; again is without effect.
  public func cancel() {
    state.withLock { state in
      state.isCancelled = true
      source.source.cancel()
      if state.isSuspended { source.source.resume() }
      state.isSuspended = false
    }
  }
}
