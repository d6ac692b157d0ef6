import Glibc
import Synchronization

/// Decides which user IDs share one set of limits (an *account*).
///
/// A user with a range in `/etc/subuid` can start processes under the 65,536 uids of the range (`unshare --map-auto`,
/// rootless containers). All of these uids share the limits of the user who owns the range. The visibility of crashes
/// depends only on the uid, and not on the ranges.
final class UserAccounts: Sendable {
  private struct SubordinateRange {
    var first: UInt32
    var last: UInt32
    var account: UInt32
  }

  private struct State {
    /// The ranges, sorted by their first uids.
    var ranges: [SubordinateRange] = []
    var read_ns: UInt64?
    /// The account of each uid that was looked up earlier.
    ///
    /// The account of a uid must not change while crashd runs, because a permit (the right to do one of a limited
    /// number of jobs) must be returned to the account that took it.
    var known: [UInt32: UInt32] = [:]
  }

  /// The accounts of this machine.
  static let system = UserAccounts(ranges: "/etc/subuid", users: "/etc/passwd")

  private let rangesPath: String
  private let usersPath: String
  private let state = Mutex(State())
  /// The time for which crashd caches the contents of `/etc/subuid` and `/etc/passwd`.
  private static let believed_ns: UInt64 = 10_000_000_000
  private static let fileLimitBytes = 1 << 20
  private static let knownLimit = 1 << 17

  init(ranges: String, users: String) { (rangesPath, usersPath) = (ranges, users) }

  /// Whether the uid belongs to root or to the user with which crashd runs.
  ///
  /// Some permits are reserved for root and crashd's own user.
  static func isTrusted(_ uid: UInt32) -> Bool { uid == 0 || uid == geteuid() }

  /// Returns the account of a uid: the owner of the range that contains the uid, or the uid itself if no range contains
  /// it.
  func account(of uid: UInt32, at now_ns: UInt64 = Moment.monotonic_ns()) -> UInt32 {
    state.withLock { state in
      if let account = state.known[uid] { return account }
      if state.known.count >= Self.knownLimit { state.known = [:] }
      if state.read_ns.map({ now_ns - min($0, now_ns) > Self.believed_ns }) ?? true {
        state.ranges = Self.read(rangesPath, usersPath)
        state.read_ns = now_ns
      }
      // Find the last range that begins at or before the uid, by binary search.
      var (low, high) = (0, state.ranges.count)
      while low < high {
        let middle = (low + high) / 2
        if state.ranges[middle].first <= uid { low = middle + 1 } else { high = middle }
      }
      let range = low > 0 ? state.ranges[low - 1] : nil
      let account = range.flatMap { uid <= $0.last ? $0.account : nil } ?? uid
      state.known[uid] = account
      return account
    }
  }

  private static func read(_ rangesPath: String, _ usersPath: String) -> [SubordinateRange] {
    guard let text = SmallFile.text(at: rangesPath, limitBytes: fileLimitBytes) else { return [] }
    let names = names(in: SmallFile.text(at: usersPath, limitBytes: fileLimitBytes) ?? "")
    var firsts: [Substring: UInt32] = [:]
    let ranges = text.split(separator: "\n").compactMap { line -> SubordinateRange? in
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      guard fields.count == 3, let first = UInt32(fields[1]), let count = UInt32(fields[2]), count > 0 else {
        return nil
      }
      // Ranges that root owns are not assigned to root's account, because root's containers have limits of their own.
      // If only a name service can resolve the owner's name, the file `/etc/passwd` does not contain the owner's uid.
      // For both kinds of owners, the account is the first uid of the owner's first range.
      let owner = (UInt32(fields[0]) ?? names[fields[0]]).flatMap { isTrusted($0) ? nil : $0 }
      let account = owner ?? firsts[fields[0], default: first]
      firsts[fields[0]] = account
      let (last, isTooHigh) = first.addingReportingOverflow(count - 1)
      return SubordinateRange(first: first, last: isTooHigh ? .max : last, account: account)
    }
    return ranges.sorted { $0.first < $1.first }
  }

  private static func names(in text: String) -> [Substring: UInt32] {
    var names: [Substring: UInt32] = [:]
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      guard fields.count == 4, let uid = UInt32(fields[2]) else { continue }
      names[fields[0]] = uid
    }
    return names
  }
}

extension UserAccounts: Equatable {
  static func == (left: UserAccounts, right: UserAccounts) -> Bool { left === right }
}
