/// The maximum numbers of permits for one kind of work.
///
/// A permit allows its holder to do the work once.
struct PermitLimit: Sendable {
  /// The maximum number of permits for all users together.
  var total: Int
  /// The maximum number of permits for one user.
  var perUser = Int.max
  /// Whether a sixteenth of `total`, and at least one permit, is reserved for root and crashd's own user.
  var hasReserve = true

  fileprivate func allows(_ isTrusted: Bool, beside all: Int, own: Int) -> Bool {
    all < (hasReserve && !isTrusted ? Limits.placesOfOthers(total) : total) && own < perUser
  }
}

/// A user who waits for a permit or holds one, with the account to which the limits apply.
///
/// The account stays the same between `append` and `giveBack`, even if `UserAccounts` assigns the uid to another
/// account meanwhile.
struct FairUser: Sendable {
  var uid: UInt32
  var account: UInt32

  fileprivate var isTrusted: Bool { UserAccounts.isTrusted(uid) }
}

extension UserAccounts {
  func fairUser(_ uid: UInt32) -> FairUser { FairUser(uid: uid, account: account(of: uid)) }
}

/// Distributes the permits of one kind of work fairly between users.
///
/// The next permit goes to a waiter of the user who holds the fewest permits. If several users with waiters hold
/// equally many permits, `Order` decides between them. `UserAccounts` defines which uids are treated as one user.
///
/// `FairQueue` is a value type. An actor stores its jobs in a `FairQueue`, and tasks wait in a `FairSemaphore`.
///
/// Complexity: `next` is linear in the number of waiting users, and does not depend on the number of waiters of each
/// user. `makeUrgent` and `remove` are linear in the total number of waiters.
struct FairQueue<Waiter> {
  enum Order: Sendable {
    /// Serves urgent waiters first, and then the user who has received no permit for the longest time.
    ///
    /// Waiters of equal rank are served in order of arrival.
    case turns
    /// Serves urgent waiters first, and then all waiters in order of arrival.
    case arrival
  }

  /// Identifies the queue of one user's waiters.
  ///
  /// Uids that the limits treat as one user share one queue.
  private struct LineKey: Hashable {
    var account: UInt32
    var isTrusted: Bool
  }

  private struct Account {
    var permits = 0
    /// The value of `clock` when this account last received a permit.
    var turn: UInt64 = 0
  }

  private let limit: PermitLimit
  private let order: Order
  private var lines: [LineKey: WaitingLine<Waiter>] = [:]
  /// The accounts that wait for a permit or hold one.
  private var known: [UInt32: Account] = [:]
  private var clock: UInt64 = 0
  /// The number of permits that are in use.
  private(set) var permitCount = 0
  private(set) var waitingCount = 0
  /// The number of permits that the queue has handed out since it was created.
  private(set) var handedOut: UInt64 = 0

  init(_ limit: PermitLimit, order: Order) { (self.limit, self.order) = (limit, order) }

  /// Returns the waiters for which the closure `isMeant` returns true, in no particular order.
  func waiting(where isMeant: (Waiter) -> Bool = { _ in true }) -> [Waiter] {
    lines.values.flatMap { $0.waiters(where: isMeant) }
  }

  /// Whether the limits allow one more waiter of the given user.
  func mayWait(_ user: FairUser, _ limit: PermitLimit) -> Bool {
    let own = Self.keys(of: user.account).reduce(0) { $0 + (lines[$1]?.count ?? 0) }
    return limit.allows(user.isTrusted, beside: waitingCount, own: own)
  }

  /// Whether a user would get a permit without waiting.
  func hasRoom(for user: FairUser) -> Bool { waitingCount == 0 && hasPermit(for: Self.key(user)) }

  mutating func append(_ waiter: Waiter, of user: FairUser, isUrgent: Bool = false) {
    clock += 1
    lines[Self.key(user), default: WaitingLine()].append(waiter, user.uid, clock, isUrgent: isUrgent)
    if known[user.account] == nil { known[user.account] = Account() }
    waitingCount += 1
  }

  /// Hands a permit to the waiter that is served next.
  /// - Parameter mayRun: A closure that is called for each user with waiters; it returns whether the user is allowed to
  ///   get a permit now.
  /// - Returns: The waiter, and whether it is urgent; nil if no waiter can get a permit.
  mutating func next(
    where mayRun: (_ uid: UInt32) -> Bool = { _ in true }
  ) -> (waiter: Waiter, isUrgent: Bool)? {
    var next: (key: LineKey, rank: (Int, Int, UInt64, UInt64))?
    for (key, line) in lines {
      guard let head = line.head, mayRun(head.uid), hasPermit(for: key) else { continue }
      let account = known[key.account] ?? Account()
      let turn = order == .turns ? account.turn : 0
      let rank = (account.permits, line.isUrgent ? 0 : 1, turn, head.order)
      if next.map({ rank < $0.rank }) ?? true { next = (key, rank) }
    }
    guard let (key, rank) = next, let waiter = lines[key]?.removeHead() else { return nil }
    if lines[key]?.head == nil { lines[key] = nil }
    waitingCount -= 1
    take(key.account)
    return (waiter, rank.1 == 0)
  }

  /// Takes a permit for a user without waiting.
  /// - Returns: The result is false if no permit is free, or if other callers wait.
  mutating func take(_ user: FairUser) -> Bool {
    guard hasRoom(for: user) else { return false }
    take(user.account)
    return true
  }

  mutating func giveBack(_ user: FairUser) {
    precondition(known[user.account].map { $0.permits > 0 } ?? false, "BUG: a user returns more permits than it has")
    known[user.account]?.permits -= 1
    permitCount -= 1
    forgetIfIdle(user.account)
  }

  /// Moves the waiters for which `isMeant` returns true in front of the other waiters of the same user.
  mutating func makeUrgent(where isMeant: (Waiter) -> Bool) {
    for key in Array(lines.keys) { lines[key]?.makeUrgent(where: isMeant) }
  }

  /// Removes the waiters for which `isMeant` returns true.
  /// - Returns: The removed waiters.
  @discardableResult
  mutating func remove(where isMeant: (Waiter) -> Bool) -> [Waiter] {
    var removed: [Waiter] = []
    for key in Array(lines.keys) {
      removed += lines[key]?.remove(where: isMeant) ?? []
      guard lines[key]?.head == nil else { continue }
      lines[key] = nil
      forgetIfIdle(key.account)
    }
    waitingCount -= removed.count
    return removed
  }

  private func hasPermit(for key: LineKey) -> Bool {
    limit.allows(key.isTrusted, beside: permitCount, own: known[key.account]?.permits ?? 0)
  }

  private mutating func take(_ account: UInt32) {
    clock += 1
    handedOut += 1
    permitCount += 1
    known[account, default: Account()].permits += 1
    known[account]?.turn = clock
  }

  private mutating func forgetIfIdle(_ account: UInt32) {
    guard known[account]?.permits == 0 else { return }
    if Self.keys(of: account).allSatisfy({ lines[$0] == nil }) { known[account] = nil }
  }

  private static func key(_ user: FairUser) -> LineKey { LineKey(account: user.account, isTrusted: user.isTrusted) }

  private static func keys(of account: UInt32) -> [LineKey] {
    [false, true].map { LineKey(account: account, isTrusted: $0) }
  }
}
