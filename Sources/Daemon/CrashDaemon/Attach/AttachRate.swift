/// Limits with a token bucket how often the processes of a user are allowed to attach.
///
/// Root has no limit. No crash is lost if crashd refuses a process: when a process that is not attached crashes, it
/// writes its crash records to a file in the spool directory.
struct AttachRate {
  private struct Bucket {
    var attaches: Double
    var time_ns: UInt64
  }

  private let perMinute: Int
  private var buckets: [UInt32: Bucket] = [:]
  private static let minute_ns = 60_000_000_000.0
  /// The maximum number of accounts (sets of uids that share limits) in `buckets`.
  ///
  /// An account whose bucket is full does not need an entry.
  private static let limit = 4_096

  init(perMinute: Int) { self.perMinute = max(1, perMinute) }

  /// Whether one more process of a user is allowed to attach now.
  ///
  /// The function takes a token from the bucket of `account`.
  mutating func admit(_ uid: UInt32, as account: UInt32, at now_ns: UInt64) -> Bool {
    guard uid != 0 else { return true }
    let full = Double(perMinute)
    var bucket = buckets[account] ?? Bucket(attaches: full, time_ns: now_ns)
    let passed = Double(now_ns >= bucket.time_ns ? now_ns - bucket.time_ns : 0)
    bucket.attaches = min(full, bucket.attaches + passed / Self.minute_ns * full)
    bucket.time_ns = now_ns
    let isAdmitted = bucket.attaches >= 1
    if isAdmitted { bucket.attaches -= 1 }
    buckets[account] = bucket
    if buckets.count > Self.limit { forgetSome(at: now_ns) }
    return isAdmitted
  }

  private mutating func forgetSome(at now_ns: UInt64) {
    buckets = buckets.filter { now_ns &- $0.value.time_ns < UInt64(Self.minute_ns) }
    // If there are too many buckets, remove all buckets, which resets the rates of all users. Only a user who has very
    // many uids can attach under so many accounts within a minute. The limit on the number of attached processes still
    // applies to this user.
    if buckets.count > Self.limit { buckets.removeAll() }
  }
}
