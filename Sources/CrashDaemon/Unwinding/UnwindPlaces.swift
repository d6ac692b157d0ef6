/// Who may unwind again: a few at once, those who wait by turns of their users, and of each user only so many.
struct UnwindPlaces {
  private struct Waiter {
    var user: UInt32
    var order: UInt64
    var continuation: CheckedContinuation<Bool, Never>
  }

  private let limits: Limits
  /// Of each user, who is in: those that wait for tables or for a place, and those that have one.
  private var inside: [UInt32: Int] = [:]
  private var running = 0
  private var waiting: [Waiter] = []
  /// When each user who is in had his last turn.
  private var turns: [UInt32: UInt64] = [:]
  private var clock: UInt64 = 0
  private(set) var isStopped = false

  var waitingCount: Int { waiting.count }

  init(_ limits: Limits) { self.limits = limits }

  /// Whether one who comes now is let in, and has not to wait.
  func hasRoom(for user: UInt32) -> Bool {
    !isStopped && waiting.isEmpty && running < limits.unwinds && inside[user, default: 0] < limits.unwindsPerUser
  }

  /// Whether one who comes now is let in.
  func isOpen(for user: UInt32) -> Bool {
    !isStopped && inside.values.reduce(0, +) < limits.unwinds + limits.waitingUnwinds
      && inside[user, default: 0] < limits.unwindsPerUser
  }

  /// Lets one in, who leaves by `leave`; false when too many are in.
  mutating func enter(_ user: UInt32) -> Bool {
    guard isOpen(for: user) else { return false }
    inside[user, default: 0] += 1
    return true
  }

  mutating func leave(_ user: UInt32) {
    inside[user, default: 1] -= 1
    guard inside[user] == 0 else { return }
    inside[user] = nil
    turns[user] = nil
  }

  /// Gives the continuation true once there is a place, or false when crashd stops.
  mutating func take(_ user: UInt32, _ continuation: CheckedContinuation<Bool, Never>) {
    if isStopped { return continuation.resume(returning: false) }
    waiting.append(Waiter(user: user, order: tick(), continuation: continuation))
    hand()
  }

  mutating func giveBack() {
    running -= 1
    hand()
  }

  /// Sends away everybody who waits, now and later.
  mutating func stop() {
    isStopped = true
    for waiter in waiting { waiter.continuation.resume(returning: false) }
    waiting = []
  }

  private mutating func hand() {
    while running < limits.unwinds,
      let next = waiting.indices.min(by: { rank(waiting[$0]) < rank(waiting[$1]) })
    {
      let waiter = waiting.remove(at: next)
      running += 1
      turns[waiter.user] = tick()
      waiter.continuation.resume(returning: true)
    }
  }

  private func rank(_ waiter: Waiter) -> (UInt64, UInt64) { (turns[waiter.user] ?? 0, waiter.order) }

  private mutating func tick() -> UInt64 {
    clock += 1
    return clock
  }
}
