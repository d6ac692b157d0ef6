import Glibc
import Synchronization

/// Limits the CPU time that each user is allowed to use in crashd and its child processes, with one token bucket per
/// user.
///
/// The work of a user who exceeds the limit is delayed, but not refused. Root and crashd's own user have no bucket, so
/// they have no limit.
final class CPUAccounts: Sendable {
  /// The parameters of a user's token bucket.
  struct Allowance: Sendable, Equatable {
    /// The CPU time that a user can use at once if the bucket is full.
    var burst_ms: Int
    /// The CPU time that a user can use continuously, per 100 ms of wall-clock time.
    var share_percent: Int
  }

  /// The account that is charged for the work of the current task; nil if no account is charged.
  @TaskLocal static var current: Charge?

  /// A closure that adds the CPU time of some work to a user's account.
  ///
  /// This type is a class because of a bug in Swift 6.3.1. In optimized code, the program crashes if a task-local value
  /// that is a closure is bound around an asynchronous call.
  final class Charge: Sendable {
    private let accounts: CPUAccounts
    private let uid: UInt32

    init(_ accounts: CPUAccounts, _ uid: UInt32) { (self.accounts, self.uid) = (accounts, uid) }

    func add(_ cost_ns: UInt64) { accounts.charge(uid, cost_ns) }
  }

  private let allowance: Allowance
  private let users: UserAccounts
  /// For each user, the time when the bucket will be full again.
  private let full_ns = Mutex<[UInt32: UInt64]>([:])
  /// The maximum number of buckets that are stored.
  ///
  /// A bucket that is full is not stored.
  private static let limit = 4_096

  init(_ allowance: Allowance, users: UserAccounts) { (self.allowance, self.users) = (allowance, users) }

  /// Charges a user for the CPU time of some work.
  func charge(_ uid: UInt32, _ cost_ns: UInt64, at now_ns: UInt64 = Moment.monotonic_ns()) {
    if UserAccounts.isTrusted(uid) { return }
    let account = users.account(of: uid)
    // The maximum of 2^50 ns is 13 days of CPU time, which is more than any work needs. The maximum prevents an
    // overflow of the following multiplication.
    let refill_ns = min(cost_ns, 1 << 50) * 100 / UInt64(max(1, allowance.share_percent))
    full_ns.withLock { full_ns in
      full_ns[account] = max(full_ns[account] ?? 0, now_ns) + refill_ns
      if full_ns.count > Self.limit { full_ns = full_ns.filter { $0.value > now_ns } }
    }
  }

  /// Returns how long the next work of a user must wait; 0 if it can start now.
  func wait_ns(for uid: UInt32, at now_ns: UInt64 = Moment.monotonic_ns()) -> UInt64 {
    if UserAccounts.isTrusted(uid) { return 0 }
    let full = full_ns.withLock { $0[users.account(of: uid)] ?? 0 }
    let burst_ns = UInt64(max(0, allowance.burst_ms)) * 1_000_000 * 100 / UInt64(max(1, allowance.share_percent))
    return full > now_ns + burst_ns ? full - now_ns - burst_ns : 0
  }

  /// Runs work on the calling thread, and returns its result with the CPU time that it used.
  static func measure<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> (Value, UInt64) {
    let start_ns = Moment.thread_ns()
    let value = try body()
    return (value, Moment.thread_ns() - start_ns)
  }

  /// Runs work of a user on the calling thread, and charges the user for its CPU time.
  func charging<Value>(_ uid: UInt32, _ body: () -> Value) -> Value {
    let (value, cost_ns) = Self.measure(body)
    charge(uid, cost_ns)
    return value
  }

  /// Runs work on the calling thread, and charges its CPU time to the account in `current`.
  static func charging<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    guard let charge = current else { return try body() }
    let start_ns = Moment.thread_ns()
    defer { charge.add(Moment.thread_ns() - start_ns) }
    return try body()
  }
}
