import Synchronization

/// How many rings are looked at at once.
///
/// A look holds a copy of the ring and the report that is made of it. A storm of crashes costs crashd the memory of a few
/// looks, not of as many as there are crashes: a ring that waits for its look costs a descriptor and a mapping without
/// pages. Users take turns, and none has all places.
final class LookPlaces: Sendable {
  private typealias Waiter = @Sendable () -> Void

  /// Those of one user who wait, in their order.
  private struct Queue {
    var waiting: [Waiter] = []
    var first = 0
    var running = 0
    /// When one of his was let in last.
    var turn: UInt64 = 0

    var isWaiting: Bool { first < waiting.count }

    mutating func next() -> Waiter {
      defer {
        first += 1
        // Those that were let in stand at the begin: moved away now and then, at a constant cost for each.
        if first == waiting.count || first >= 1_024 {
          waiting.removeFirst(first)
          first = 0
        }
      }
      return waiting[first]
    }
  }

  private struct State {
    var queues: [UInt32: Queue] = [:]
    var running = 0
    var waiting = 0
    var clock: UInt64 = 0
    var whoWaitsForCalm: [Waiter] = []
  }

  private let state = Mutex(State())
  private let limit: Int
  private let limitPerUser: Int

  init(limit: Int, limitPerUser: Int) { (self.limit, self.limitPerUser) = (limit, limitPerUser) }

  /// How many wait.
  var waitingCount: Int { state.withLock { $0.waiting } }
  /// How many wait until nobody does.
  var calmCount: Int { state.withLock { $0.whoWaitsForCalm.count } }

  /// Returns when there is a place, which is given back by `leave`.
  func enter(_ user: UInt32) async {
    await withCheckedContinuation { continuation in enter(user) { continuation.resume() } }
  }

  /// Calls back when there is a place; returns at once.
  ///
  /// Thousands who wait so have no stack of a task each.
  func enter(_ user: UInt32, then begin: @escaping @Sendable () -> Void) {
    let next = state.withLock { state in
      state.queues[user, default: Queue()].waiting.append(begin)
      state.waiting += 1
      return takeNext(&state)
    }
    next?()
  }

  func leave(_ user: UInt32) {
    let (next, calm): (Waiter?, [Waiter]) = state.withLock { state in
      state.running -= 1
      state.queues[user]?.running -= 1
      if let queue = state.queues[user], queue.running == 0, !queue.isWaiting { state.queues[user] = nil }
      let next = takeNext(&state)
      guard state.waiting == 0 else { return (next, []) }
      defer { state.whoWaitsForCalm = [] }
      return (next, state.whoWaitsForCalm)
    }
    next?()
    for begin in calm { begin() }
  }

  /// Returns when nobody waits for a place, thus when there is time for what is not urgent.
  func calm() async {
    await withCheckedContinuation { continuation in
      let isCalm = state.withLock { state in
        if state.waiting > 0 { state.whoWaitsForCalm.append { continuation.resume() } }
        return state.waiting == 0
      }
      if isCalm { continuation.resume() }
    }
  }

  /// Returns when nobody has come for so long, thus not between two crashes of a storm, in which nobody waits for a moment;
  /// or when that does not happen in `patience_ms`, and nobody waits.
  func calm(
    quiet_ms: Int, patience_ms: Int,
    sleep: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) async {
    let deadline = ContinuousClock.now + .milliseconds(patience_ms)
    while true {
      await calm()
      guard ContinuousClock.now < deadline else { return }
      let before = letIn
      do { try await sleep(.milliseconds(quiet_ms)) } catch { return }
      if letIn == before { return }
    }
  }

  /// How many were let in so far.
  private var letIn: UInt64 { state.withLock { $0.clock } }

  /// One at most: each call has made room for one, or brought one.
  private func takeNext(_ state: inout State) -> Waiter? {
    guard state.running < limit else { return nil }
    let possible = state.queues.filter { $0.value.isWaiting && $0.value.running < limitPerUser }
    guard let user = possible.min(by: { ($0.value.running, $0.value.turn) < ($1.value.running, $1.value.turn) })?.key
    else { return nil }
    state.clock += 1
    state.running += 1
    state.waiting -= 1
    state.queues[user]?.running += 1
    state.queues[user]?.turn = state.clock
    return state.queues[user]?.next()
  }
}
