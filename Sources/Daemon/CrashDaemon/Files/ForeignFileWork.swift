import CLinux
import Glibc
import LinuxSystem
import Synchronization

/// Runs work that can block in a file system that crashd does not trust.
///
/// For example, the work opens a path that a process reported, or closes a descriptor that a process sent. A file
/// system that a user provides (FUSE) can block forever. A network file system whose server is down can block for a
/// long time.
///
/// The work runs on separate threads, and never in Swift's cooperative pool or on the attach thread. Each account (the
/// uids that the limits treat as one user) is allowed to use a limited number of these threads. For each device or
/// directory (`place`), at most one thread of the account works at a time. Therefore, a device that blocks occupies
/// only one thread, and the user's work on other devices continues.
final class ForeignFileWork: Sendable {
  /// A piece of work that is waiting for a thread, or is running.
  struct Piece: Sendable {
    fileprivate var account: UInt32
    fileprivate var place: String
    fileprivate var number: UInt64
    fileprivate var run: @Sendable () -> Void
  }

  /// The queued work of one account.
  private struct Queue {
    /// The waiting pieces of each device or directory, in the order of their submission.
    var waiting: [String: [Piece]] = [:]
    /// The devices and directories that have waiting work but no running work, in the order in which they are served.
    var ready: [String] = []
    var running: Set<String> = []
    /// The number of waiting pieces of the account.
    var count = 0

    var isIdle: Bool { count == 0 && running.isEmpty }

    mutating func append(_ piece: Piece) {
      if waiting[piece.place] == nil, !running.contains(piece.place) { ready.append(piece.place) }
      waiting[piece.place, default: []].append(piece)
      count += 1
    }

    mutating func next() -> Piece? {
      guard let place = ready.first, let piece = waiting[place]?.first else { return nil }
      ready.removeFirst()
      remove(piece)
      running.insert(place)
      return piece
    }

    mutating func end(_ piece: Piece) {
      running.remove(piece.place)
      if waiting[piece.place] != nil { ready.append(piece.place) }
    }

    /// Removes a waiting piece from the queue.
    mutating func remove(_ piece: Piece) {
      guard let index = waiting[piece.place]?.firstIndex(where: { $0.number == piece.number }) else { return }
      waiting[piece.place]?.remove(at: index)
      count -= 1
      guard waiting[piece.place]?.isEmpty == true else { return }
      waiting[piece.place] = nil
      ready.removeAll { $0 == piece.place }
    }
  }

  private struct State {
    var queues: [UInt32: Queue] = [:]
    /// The accounts of the running pieces, with one element for each piece.
    var running: [UInt32] = []
    var threads = 0
    var clock: UInt64 = 0
  }

  static let shared = ForeignFileWork(Limits())

  private let limits: Limits
  private let state = Mutex(State())

  init(_ limits: Limits) { self.limits = limits }

  /// Whether the number of waiting pieces of a user's work has reached the maximum.
  ///
  /// In this case, crashd must not accept further work of this user.
  func isFull(_ user: UInt32) -> Bool {
    let most = UserAccounts.isTrusted(user) ? limits.trustedForeignWork : limits.foreignWorkPerUser
    let account = limits.account(of: user)
    return state.withLock { $0.queues[account]?.count ?? 0 >= most }
  }

  /// Queues work for a separate thread, and returns without blocking.
  ///
  /// - Parameters:
  ///   - user: The owner of the file.
  ///   - place: The device or directory that can block. The user's work at one place never runs concurrently.
  ///   - body: The work, which runs on the separate thread.
  /// - Returns: The queued work, which can be withdrawn while it waits.
  @discardableResult
  func submit(of user: UInt32, at place: String, _ body: @escaping @Sendable () -> Void) -> Piece {
    let account = limits.account(of: user)
    let (piece, needsThread) = state.withLock { state in
      state.clock += 1
      let piece = Piece(account: account, place: place, number: state.clock, run: body)
      state.queues[account, default: Queue()].append(piece)
      let needsThread =
        state.queues[account]?.ready.isEmpty == false && mayRun(account, state)
        && state.threads < limits.places(limits.foreignThreads, for: account)
      if needsThread { state.threads += 1 }
      return (piece, needsThread)
    }
    guard needsThread else { return piece }
    do throws(SystemError) {
      try Thread.start(named: "foreign-files") { self.work() }
    } catch {
      // The work stays in the queue until a thread that already runs, or that a later call of `submit` starts, runs it.
      state.withLock { $0.threads -= 1 }
    }
    return piece
  }

  /// Runs `body` on a separate thread and returns its result.
  ///
  /// Returns nil if `body` does not finish before the time-out, or if too much work of the user is already waiting. If
  /// `body` has begun before the time-out, `body` runs to its end, and its result is dropped.
  func result<Value: Sendable>(
    of user: UInt32, at place: String, timeout_ms: Int, _ body: @escaping @Sendable () -> Value
  ) async -> Value? {
    if isFull(user) { return nil }
    let answer = Answer<Value>()
    let piece = submit(of: user, at: place) { answer.give(body()) }
    let alarm = Task {
      try await Task.sleep(for: .milliseconds(timeout_ms))
      withdraw(piece)
      answer.give(nil)
    }
    defer { alarm.cancel() }
    return await withCheckedContinuation { answer.take($0) }
  }

  /// Does the same as `result(of:at:timeout_ms:_:)`, but blocks the calling thread until the result is known.
  func wait<Value: Sendable>(
    of user: UInt32, at place: String, timeout_ms: Int, _ body: @escaping @Sendable () -> Value
  ) -> Value? {
    var number: Int32 = -1
    guard !isFull(user), unsafe cd_wake_create(&number) == 0 else { return nil }
    let (event, found) = (Descriptor(owning: number), SharedValue<Value>())
    let piece = submit(of: user, at: place) {
      found.set(body())
      var one: UInt64 = 1
      // write reads eight bytes, which is the size of `one`.
      _ = unsafe write(event.number, &one, 8)
    }
    var wanted = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
    // poll reads and writes one pollfd, which is the size of `wanted`.
    _ = unsafe poll(&wanted, 1, Int32(clamping: timeout_ms))
    withdraw(piece)
    return found.value
  }

  /// Removes a piece of work from the queue if the work has not begun.
  private func withdraw(_ piece: Piece) {
    state.withLock { state in
      state.queues[piece.account]?.remove(piece)
      Self.forgetIdle(piece.account, &state)
    }
  }

  private static func forgetIdle(_ account: UInt32, _ state: inout State) {
    if state.queues[account]?.isIdle == true { state.queues[account] = nil }
  }

  private func mayRun(_ account: UInt32, _ state: State) -> Bool {
    limits.hasPlace(
      account, beside: state.running, of: limits.foreignThreads, most: limits.foreignThreadsPerUser)
  }

  /// Returns the account whose work runs next: of all accounts with work that the limits allow to run, the one with the
  /// fewest running pieces.
  private func nextAccount(_ state: State) -> UInt32? {
    state.queues.lazy.filter { !$0.value.ready.isEmpty && self.mayRun($0.key, state) }
      .min { $0.value.running.count < $1.value.running.count }?.key
  }

  private func take() -> Piece? {
    state.withLock { state in
      guard let account = nextAccount(state), let piece = state.queues[account]?.next() else {
        // Ordering: one lock protects both the search for work and this decrement. Work that is submitted after the
        // search therefore finds the lower number of threads, and can start another thread.
        state.threads -= 1
        return nil
      }
      state.running.append(account)
      return piece
    }
  }

  private func work() {
    while let piece = take() {
      piece.run()
      state.withLock { state in
        if let index = state.running.firstIndex(of: piece.account) { state.running.remove(at: index) }
        state.queues[piece.account]?.end(piece)
        Self.forgetIdle(piece.account, &state)
      }
    }
  }
}

/// Resumes a continuation exactly once, with the first result.
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
