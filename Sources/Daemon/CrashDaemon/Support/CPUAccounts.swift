import Glibc
import Synchronization

/// The CPU time that each user may have of crashd and its children: a token bucket.
///
/// A user beyond it waits; it is not refused. Root and crashd's own user have no bucket.
final class CPUAccounts: Sendable {
  /// The bucket of one user.
  struct Allowance: Sendable, Equatable {
    /// CPU time at once.
    var burst_ms: Int
    /// CPU time in 100 ms of time, in the long run.
    var share_percent: Int
  }

  /// The charge of the call that the current work belongs to.
  @TaskLocal static var current: Charge?

  /// Adds up the cost of a user's work.
  ///
  /// A class: a task-local closure crashes in code optimized by Swift 6.3.1 where it is bound around an asynchronous
  /// call.
  final class Charge: Sendable {
    private let accounts: CPUAccounts
    private let uid: UInt32

    init(_ accounts: CPUAccounts, _ uid: UInt32) { (self.accounts, self.uid) = (accounts, uid) }

    func add(_ cost_ns: UInt64) { accounts.charge(uid, cost_ns) }
  }

  private let allowance: Allowance
  private let users: UserAccounts
  /// When each bucket is full again.
  private let full_ns = Mutex<[UInt32: UInt64]>([:])
  /// Users that are remembered; a full bucket holds no information.
  private static let limit = 4_096

  init(_ allowance: Allowance, users: UserAccounts) { (self.allowance, self.users) = (allowance, users) }

  /// Charges a user for work.
  func charge(_ uid: UInt32, _ cost_ns: UInt64, at now_ns: UInt64 = Moment.monotonic_ns()) {
    if UserAccounts.isTrusted(uid) { return }
    let account = users.account(of: uid)
    // No work costs 13 days of CPU time: with this limit the product cannot overflow.
    let refill_ns = min(cost_ns, 1 << 50) * 100 / UInt64(max(1, allowance.share_percent))
    full_ns.withLock { full_ns in
      full_ns[account] = max(full_ns[account] ?? 0, now_ns) + refill_ns
      if full_ns.count > Self.limit { full_ns = full_ns.filter { $0.value > now_ns } }
    }
  }

  /// How long a user has to wait before more work is done for it; 0: not at all.
  func wait_ns(for uid: UInt32, at now_ns: UInt64 = Moment.monotonic_ns()) -> UInt64 {
    if UserAccounts.isTrusted(uid) { return 0 }
    let full = full_ns.withLock { $0[users.account(of: uid)] ?? 0 }
    let burst_ns = UInt64(max(0, allowance.burst_ms)) * 1_000_000 * 100 / UInt64(max(1, allowance.share_percent))
    return full > now_ns + burst_ns ? full - now_ns - burst_ns : 0
  }

  /// Runs work on this thread, and measures its CPU time.
  static func measure<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> (Value, UInt64) {
    let start_ns = Moment.thread_ns()
    let value = try body()
    return (value, Moment.thread_ns() - start_ns)
  }

  /// Runs work for a user on this thread, and charges it.
  func charging<Value>(_ uid: UInt32, _ body: () -> Value) -> Value {
    let (value, cost_ns) = Self.measure(body)
    charge(uid, cost_ns)
    return value
  }

  /// Runs work on this thread, and charges `current`.
  static func charging<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    guard let charge = current else { return try body() }
    let start_ns = Moment.thread_ns()
    defer { charge.add(Moment.thread_ns() - start_ns) }
    return try body()
  }
}
