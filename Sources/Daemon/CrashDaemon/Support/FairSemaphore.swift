import Synchronization

/// Hands out the permits of one kind of work to tasks and callbacks.
///
/// The number of permits is limited in total and for each user, and the permits are distributed fairly between users.
///
/// A waiting callback needs no task and no memory for a task's stack, so thousands of callbacks can wait
/// (docs/decisions/0099).
///
/// Ordering: each callback runs once, outside the lock, on the thread that made its permit available.
final class FairSemaphore: Sendable {
  private typealias Callback = @Sendable (_ isGranted: Bool) -> Void

  private struct State {
    var queue: FairQueue<Callback>
    var waitingForCalm: [CheckedContinuation<Void, Never>] = []
    var isStopped = false
  }

  private let state: Mutex<State>
  private let accounts: UserAccounts

  init(_ limit: PermitLimit, _ accounts: UserAccounts) {
    self.accounts = accounts
    state = Mutex(State(queue: FairQueue(limit, order: .turns)))
  }

  /// The number of waiting tasks and callbacks.
  var waitingCount: Int { state.withLock { $0.queue.waitingCount } }
  /// The number of callers that wait in `calm()`.
  var calmCount: Int { state.withLock { $0.waitingForCalm.count } }

  /// Whether the user would get another permit without waiting.
  func hasRoom(for uid: UInt32) -> Bool {
    let user = accounts.fairUser(uid)
    return state.withLock { !$0.isStopped && $0.queue.hasRoom(for: user) }
  }

  /// Waits for a permit, runs `body`, and gives the permit back.
  func withPermit<Value>(for uid: UInt32, _ body: (Permit) async -> Value) async -> Value {
    let permit = await enter(uid)
    defer { permit.giveBack() }
    return await body(permit)
  }

  /// Waits for a permit.
  ///
  /// The caller must give the permit back.
  ///
  /// After `stop`, this method returns a void permit, for which `isHeld` is false.
  func enter(_ uid: UInt32) async -> Permit {
    await withCheckedContinuation { continuation in enter(uid) { continuation.resume(returning: $0) } }
  }

  /// Calls `begin` with a permit as soon as a permit is free.
  ///
  /// This method returns without waiting.
  ///
  /// The callback owns the permit and must give it back.
  func enter(_ uid: UInt32, then begin: @escaping @Sendable (Permit) -> Void) {
    let user = accounts.fairUser(uid)
    enqueue(user) { isGranted in begin(Permit(self, user, isHeld: isGranted)) }
  }

  /// Takes a permit without waiting; returns nil if no permit is free.
  func enterIfFree(_ uid: UInt32) -> Permit? {
    let user = accounts.fairUser(uid)
    let isGranted = state.withLock { !$0.isStopped && $0.queue.take(user) }
    return isGranted ? Permit(self, user, isHeld: true) : nil
  }

  /// Stops all waiting.
  ///
  /// Callers that come later do not wait either.
  ///
  /// All waiters receive void permits, for which `isHeld` is false.
  func stop() {
    let (ended, calm): ([Callback], [CheckedContinuation<Void, Never>]) = state.withLock { state in
      state.isStopped = true
      defer { state.waitingForCalm = [] }
      return (state.queue.remove { _ in true }, state.waitingForCalm)
    }
    for callback in ended { callback(false) }
    for continuation in calm { continuation.resume() }
  }

  private func enqueue(_ user: FairUser, _ callback: @escaping Callback) {
    let (next, isStopped): (Callback?, Bool) = state.withLock { state in
      if state.isStopped { return (nil, true) }
      state.queue.append(callback, of: user)
      return (state.queue.next()?.waiter, false)
    }
    if isStopped { callback(false) }
    next?(true)
  }

  /// Takes a permit back, and wakes at most one waiter, because only one permit is free.
  private func giveBack(_ user: FairUser) {
    let (next, calm): (Callback?, [CheckedContinuation<Void, Never>]) = state.withLock { state in
      state.queue.giveBack(user)
      let next = state.queue.next()?.waiter
      guard state.queue.waitingCount == 0 else { return (next, []) }
      defer { state.waitingForCalm = [] }
      return (next, state.waitingForCalm)
    }
    next?(true)
    for continuation in calm { continuation.resume() }
  }
}

// Defines the permits that callers hold.
extension FairSemaphore {
  /// One permit of a semaphore.
  ///
  /// The permit is in use until the caller gives it back. Only one task at a time is allowed to use the permit.
  final class Permit: Sendable {
    private let user: FairUser
    private let semaphore: FairSemaphore
    private let held: Atomic<Bool>

    /// Whether the permit is in use; false if it is void or was given back.
    var isHeld: Bool { held.load(ordering: .acquiring) }

    fileprivate init(_ semaphore: FairSemaphore, _ user: FairUser, isHeld: Bool) {
      (self.semaphore, self.user) = (semaphore, user)
      held = Atomic(isHeld)
    }

    /// Gives the permit back.
    ///
    /// This method has no effect if the caller does not hold the permit.
    func giveBack() {
      if held.exchange(false, ordering: .acquiringAndReleasing) { semaphore.giveBack(user) }
    }

    /// Gives the permit back while `body` runs, and then waits for a new permit.
    func whileReleased<Value>(_ body: () async -> Value) async -> Value {
      giveBack()
      let value = await body()
      await withCheckedContinuation { continuation in
        semaphore.enqueue(user) { isGranted in
          self.held.store(isGranted, ordering: .releasing)
          continuation.resume()
        }
      }
      return value
    }
  }
}

// Waits for idle periods of the semaphore, in which no caller waits for a permit.
extension FairSemaphore {
  /// Returns as soon as no caller waits for a permit.
  func calm() async {
    await withCheckedContinuation { continuation in
      let isCalm = state.withLock { state in
        if state.queue.waitingCount > 0 { state.waitingForCalm.append(continuation) }
        return state.queue.waitingCount == 0
      }
      if isCalm { continuation.resume() }
    }
  }

  /// Returns when no caller waits and the semaphore has handed out no permit during the last `quiet_ms`.
  ///
  /// Even if many processes crash at once, there are short periods between two crashes in which no caller waits.
  /// `quiet_ms` must be longer than these periods. After `patience_ms`, this method returns as soon as no caller waits,
  /// even if a permit was handed out recently.
  func calm(
    quiet_ms: Int, patience_ms: Int,
    sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) async {
    let deadline = ContinuousClock.now + .milliseconds(patience_ms)
    while true {
      await calm()
      guard ContinuousClock.now < deadline else { return }
      let before = handedOut
      do { try await sleep(.milliseconds(quiet_ms)) } catch { return }
      if handedOut == before { return }
    }
  }

  /// The number of permits that the semaphore has handed out.
  private var handedOut: UInt64 { state.withLock { $0.queue.handedOut } }
}
