/// Permits of second unwindings: a few at once, the others by turns of their users' accounts, so many of each.
struct UnwindPlaces {
  private struct Waiter {
    var user: UInt32
    var order: UInt64
    var continuation: CheckedContinuation<Bool, Never>
  }

  private let limits: Limits
  /// The account of each that waits for tables or for a place, or has one.
  private var inside: [UInt32] = []
  private var running = 0
  private var waiting: [Waiter] = []
  /// When each account that is in had its last turn.
  private var turns: [UInt32: UInt64] = [:]
  private var clock: UInt64 = 0
  private(set) var isStopped = false

  var waitingCount: Int { waiting.count }

  init(_ limits: Limits) { self.limits = limits }

  /// Whether one more unwinding of a user begins without waiting.
  func hasRoom(for user: UInt32) -> Bool { isOpen(for: user) && waiting.isEmpty && mayRun(user) }

  /// Whether one more of a user is let in.
  func isOpen(for user: UInt32) -> Bool {
    !isStopped
      && limits.hasPlace(
        user, beside: inside, of: limits.unwinds + limits.waitingUnwinds, most: limits.unwindsPerUser)
  }

  private func mayRun(_ user: UInt32) -> Bool { running < limits.places(limits.unwinds, for: user) }

  /// Lets one in, which leaves by `leave`; false when too many are in.
  mutating func enter(_ user: UInt32) -> Bool {
    guard isOpen(for: user) else { return false }
    inside.append(limits.account(of: user))
    return true
  }

  mutating func leave(_ user: UInt32) {
    let account = limits.account(of: user)
    if let place = inside.firstIndex(of: account) { inside.remove(at: place) }
    if !inside.contains(account) { turns[account] = nil }
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

  /// Ends the waiting of all, now and later.
  mutating func stop() {
    isStopped = true
    for waiter in waiting { waiter.continuation.resume(returning: false) }
    waiting = []
  }

  private mutating func hand() {
    while let next = waiting.indices.filter({ mayRun(waiting[$0].user) })
      .min(by: { rank(waiting[$0]) < rank(waiting[$1]) })
    {
      let waiter = waiting.remove(at: next)
      running += 1
      turns[limits.account(of: waiter.user)] = tick()
      waiter.continuation.resume(returning: true)
    }
  }

  private func rank(_ waiter: Waiter) -> (UInt64, UInt64) {
    (turns[limits.account(of: waiter.user)] ?? 0, waiter.order)
  }

  private mutating func tick() -> UInt64 {
    clock += 1
    return clock
  }
}
