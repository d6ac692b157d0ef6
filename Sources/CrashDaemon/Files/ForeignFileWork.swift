import CCrashDaemon
import Glibc
import Synchronization

/// Does what may wait for a file system that crashd does not know.
///
/// That is to open a path that a process named, and to close a descriptor that a process sent. A file system of a user's
/// own, or of a dead server, may never answer.
///
/// Nothing of that happens on Swift's cooperative pool or on the attach thread. Threads of their own do it, a few for each
/// user, and one for each place: a place that hangs holds one thread, and what its user has elsewhere goes on.
final class ForeignFileWork: Sendable {
  struct Limits: Sendable {
    /// Threads in all.
    var threads = 32
    /// Threads of one user.
    var threadsPerUser = 4
    /// Pieces of work of one user that wait; of more the user's processes are refused.
    var waitingPerUser = 1_024
  }

  private struct Piece {
    var place: String
    var run: @Sendable () -> Void
  }

  private struct State {
    var waiting: [UInt32: [Piece]] = [:]
    var running: [UInt32: Set<String>] = [:]
    var threads = 0
  }

  static let shared = ForeignFileWork()

  private let limits: Limits
  private let state = Mutex(State())

  init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Whether so much of a user's waits that nothing more is to be taken from that user.
  func isFull(_ user: UInt32) -> Bool {
    state.withLock { $0.waiting[user, default: []].count >= limits.waitingPerUser }
  }

  /// Runs work later, on a thread of its own; never waits.
  ///
  /// - Parameters:
  ///   - user: Whose file it is about.
  ///   - place: What may hang: a device, a directory. One piece of work of a user is at a place at a time.
  ///   - body: The work.
  func submit(of user: UInt32, at place: String, _ body: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.waiting[user, default: []].append(Piece(place: place, run: body))
      guard state.threads < limits.threads, next(state, of: user) != nil else { return false }
      state.threads += 1
      return true
    }
    guard needsThread else { return }
    do throws(SystemError) {
      try Thread.start(named: "foreign-files") { self.work() }
    } catch {
      // What waits is done with the next piece that finds a thread.
      state.withLock { $0.threads -= 1 }
    }
  }

  /// The result of `body`, or nil when it does not come in time; then `body` goes on for as long as it takes.
  func result<Value: Sendable>(
    of user: UInt32, at place: String, timeout_ms: Int, _ body: @escaping @Sendable () -> Value
  ) async -> Value? {
    let answer = Answer<Value>()
    let alarm = Task {
      try await Task.sleep(for: .milliseconds(timeout_ms))
      answer.give(nil)
    }
    defer { alarm.cancel() }
    return await withCheckedContinuation { continuation in
      answer.take(continuation)
      submit(of: user, at: place) { answer.give(body()) }
    }
  }

  /// The same for a thread that may wait.
  func wait<Value: Sendable>(
    of user: UInt32, at place: String, timeout_ms: Int, _ body: @escaping @Sendable () -> Value
  ) -> Value? {
    var number: Int32 = -1
    guard unsafe cd_wake_create(&number) == 0 else { return nil }
    let (event, found) = (Descriptor(owning: number), SharedValue<Value>())
    submit(of: user, at: place) {
      found.set(body())
      var one: UInt64 = 1
      // An eventfd takes eight bytes.
      _ = unsafe write(event.number, &one, 8)
    }
    var wanted = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
    // One pollfd is given and one is told.
    _ = unsafe poll(&wanted, 1, Int32(clamping: timeout_ms))
    return found.value
  }

  private func next(_ state: State, of user: UInt32) -> Int? {
    let running = state.running[user, default: []]
    guard running.count < limits.threadsPerUser else { return nil }
    return state.waiting[user, default: []].firstIndex { !running.contains($0.place) }
  }

  private func take() -> (user: UInt32, piece: Piece)? {
    state.withLock { state in
      for user in state.waiting.keys {
        guard let index = next(state, of: user), let piece = state.waiting[user]?.remove(at: index) else { continue }
        if state.waiting[user]?.isEmpty == true { state.waiting[user] = nil }
        state.running[user, default: []].insert(piece.place)
        return (user, piece)
      }
      // Under one lock with the look: what is submitted from now on finds no thread here.
      state.threads -= 1
      return nil
    }
  }

  private func work() {
    while let (user, piece) = take() {
      piece.run()
      state.withLock { state in
        state.running[user]?.remove(piece.place)
        if state.running[user]?.isEmpty == true { state.running[user] = nil }
      }
    }
  }
}

/// Resumes a continuation once, by whichever comes first.
private final class Answer<Value: Sendable>: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Value?, Never>?
    var isGiven = false
    var value: Value?
  }

  private let state = Mutex(State())

  func take(_ waiter: CheckedContinuation<Value?, Never>) {
    let (isGiven, value) = state.withLock { state in
      if !state.isGiven { state.continuation = waiter }
      return (state.isGiven, state.value)
    }
    if isGiven { waiter.resume(returning: value) }
  }

  func give(_ value: Value?) {
    let waiter = state.withLock { state in
      defer { state.continuation = nil }
      if !state.isGiven { (state.isGiven, state.value) = (true, value) }
      return state.continuation
    }
    waiter?.resume(returning: value)
  }
}

private final class SharedValue<Value: Sendable>: Sendable {
  private let stored = Mutex<Value?>(nil)

  var value: Value? { stored.withLock { $0 } }

  func set(_ value: Value) { stored.withLock { $0 = value } }
}
