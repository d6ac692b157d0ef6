import CrashReport
import Logging
import Synchronization

/// The process and user at the other end of a socket, or the owner of a file.
struct Peer: Sendable, Hashable, CustomStringConvertible {
  /// The pid of the process; 0 if only the user is known.
  var pid: Int32
  var uid: UInt32

  var description: String { pid == 0 ? "uid \(uid)" : "pid \(pid), uid \(uid)" }
}

/// Counts stored reports, refused input and lost data.
///
/// The ledger also logs the counted events, with a rate limit so that no process can flood the log. The limit is one
/// line per second for each kind of line and each user. For stored reports, a burst of up to eight lines is allowed.
///
/// If lines were suppressed, the next logged line contains their number.
final class Ledger: Sendable {
  private struct Line: Hashable {
    var kind: String
    var account: UInt32
  }

  private struct Quiet {
    /// The theoretical arrival time of the rate limit: each logged line moves this time one second forward.
    ///
    /// Lines are suppressed while this time is too far in the future; see `admit`.
    var until_ns: UInt64
    var omitted: Int
  }

  /// The losses and refusals of one user.
  private struct Share {
    var account: UInt32
    var losses: [String: Int] = [:]
    var refusals: [String: Int] = [:]
  }

  private struct State {
    var losses: [String: Int] = [:]
    var refusals: [String: Int] = [:]
    var shares: [UInt32: Share] = [:]
    var removals: [String: Int] = [:]
    var stored = 0
    var quiet: [Line: Quiet] = [:]
  }

  private let state = Mutex(State())
  private let hasOtherNamespace = Atomic(false)
  private let logger: Logger
  private let limits: Limits
  private static let interval_ns: UInt64 = 1_000_000_000
  /// The number of stored reports of one user that can be logged in one burst.
  ///
  /// With this number, the log shows every service if up to eight services of a user crash together.
  private static let reportsAtOnce: UInt64 = 8

  /// The maximum number of losses of one kind that is accepted from the records of one process.
  ///
  /// The number is limited because the counters come from the process and are untrusted.
  static let mostLosses = 1 << 32

  /// Adds two counters.
  ///
  /// If the sum of the counts would overflow, the result is the maximum number.
  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, isTooMuch) = left.addingReportingOverflow(right)
    return isTooMuch ? .max : sum
  }

  private static func add(_ counts: [String: Int], to sums: inout [String: Int]) {
    for (kind, count) in counts { sums[kind] = sum(sums[kind] ?? 0, min(max(0, count), mostLosses)) }
  }

  private func remembers(_ uid: UInt32, _ state: State) -> Bool {
    let (all, taken) = (limits.rememberedRefusals, state.shares.values.lazy.map(\.account))
    return state.shares[uid] != nil || limits.hasPlace(uid, beside: taken, of: all, most: max(1, all / 16))
  }

  /// Changes the counts of a user.
  ///
  /// The call has no effect if the user is new and the maximum number of users is reached.
  private func change(_ uid: UInt32, _ state: inout State, _ body: (inout Share) -> Void) {
    guard remembers(uid, state) else { return }
    body(&state.shares[uid, default: Share(account: limits.account(of: uid))])
  }

  private func line(_ kind: String, _ peer: Peer) -> Line { Line(kind: kind, account: limits.account(of: peer.uid)) }

  init(logger: Logger, limits: Limits) {
    self.logger = logger
    self.limits = limits
  }

  var losses: [String: Int] { state.withLock { $0.losses } }
  var refusals: [String: Int] { state.withLock { $0.refusals } }
  /// Returns the numbers of a user's losses, by kind.
  ///
  /// The numbers are stored only for a limited number of users.
  func losses(of uid: UInt32) -> [String: Int] { state.withLock { $0.shares[uid]?.losses ?? [:] } }
  func refusals(of uid: UInt32) -> [String: Int] { state.withLock { $0.shares[uid]?.refusals ?? [:] } }
  /// The number of reports that retention removed, by reason.
  var removals: [String: Int] { state.withLock { $0.removals } }
  /// The number of reports that were stored since crashd started, including rebuilt reports.
  var stored: Int { state.withLock { $0.stored } }

  func count(removed: [String: Int]) {
    state.withLock { $0.removals.merge(removed.mapValues { max(0, $0) }, uniquingKeysWith: Self.sum) }
  }

  /// Counts and logs that crashd refused untrusted input.
  func refuse(_ kind: String, from peer: Peer, because reason: String) {
    let omitted = state.withLock { state in
      Self.add([kind: 1], to: &state.refusals)
      change(peer.uid, &state) { Self.add([kind: 1], to: &$0.refusals) }
      return Self.admit(line(kind, peer), to: &state.quiet, limit: limits.rememberedRefusals)
    }
    guard let omitted else { return }
    logger.notice("refused \(kind) from \(peer): \(CleanText.line(reason))\(Self.more(omitted))")
  }

  /// Logs, once, that a process attached from outside of crashd's pid namespace.
  func noteOtherNamespace(of peer: Peer, process name: String) {
    guard !hasOtherNamespace.exchange(true, ordering: .relaxed) else { return }
    logger.warning(
      """
      '\(CleanText.line(name))' (uid \(peer.uid)) is in another pid namespace: its reports lack \
      exit status, command line, control group and resources. In Kubernetes, set hostPID: true (DaemonSet) or \
      shareProcessNamespace: true (sidecar)
      """)
  }

  /// Counts and logs that a report of a process was stored.
  func report(_ id: String, of peer: Peer, process name: String, sentence: String) {
    let omitted = state.withLock { state in
      state.stored = Self.sum(state.stored, 1)
      let line = line("report", peer)
      return Self.admit(line, to: &state.quiet, limit: limits.rememberedRefusals, atOnce: Self.reportsAtOnce)
    }
    guard let omitted else { return }
    logger.info("stored \(id) of '\(name)' (\(peer)): \(sentence)\(Self.more(omitted))")
  }

  /// Logs that crashd cannot store data of a process now, and that the data stays in its ring or file.
  func postpone(_ what: String, of peer: Peer, process name: String, because reason: String) {
    let omitted = state.withLock { state in
      Self.admit(line("postponed", peer), to: &state.quiet, limit: limits.rememberedRefusals)
    }
    guard let omitted else { return }
    logger.error("cannot store \(what) of '\(name)' (\(peer)) now: \(CleanText.line(reason))\(Self.more(omitted))")
  }

  /// Counts and logs that data of a process is lost.
  func lose(_ losses: [String: Int], of peer: Peer, process name: String) {
    guard !losses.isEmpty else { return }
    let omitted = state.withLock { state in
      Self.add(losses, to: &state.losses)
      change(peer.uid, &state) { Self.add(losses, to: &$0.losses) }
      return Self.admit(line("loss", peer), to: &state.quiet, limit: limits.rememberedRefusals)
    }
    guard let omitted else { return }
    let list = losses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    logger.warning("lost data of '\(name)' (\(peer)): \(list)\(Self.more(omitted))")
  }

  /// Returns the number of lines that were suppressed since the last logged line; nil if this line must be suppressed,
  /// too.
  ///
  /// Implements the generic cell rate algorithm (ITU-T I.371).
  private static func admit(
    _ line: Line, to quiet: inout [Line: Quiet], limit: Int, atOnce: UInt64 = 1
  ) -> Int? {
    let now = Moment.monotonic_ns()
    let until = max(quiet[line]?.until_ns ?? now, now)
    if until - now > (atOnce - 1) * interval_ns {
      quiet[line]?.omitted += 1
      return nil
    }
    if quiet.count >= limit { quiet = quiet.filter { $0.value.until_ns > now } }
    if quiet.count >= limit, quiet[line] == nil { return nil }
    let omitted = quiet[line]?.omitted ?? 0
    quiet[line] = Quiet(until_ns: until + interval_ns, omitted: 0)
    return omitted
  }

  private static func more(_ omitted: Int) -> String { omitted == 0 ? "" : " (and \(omitted) earlier lines dropped)" }
}
