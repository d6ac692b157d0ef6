import CrashReport
import CrashStore
import Synchronization

/// Failures of the store, and the reports that wait in memory until it recovers.
///
/// During an outage, such as a full disk or a replaced database, no crash is lost as long as the reports fit into
/// memory.
final class StoreOutage: Sendable {
  /// A report that is not stored yet.
  struct Held: Sendable {
    var report: CrashReport
    var raw: [UInt8]
    var owner: Peer
    var process: String
    /// The pid in the process's own namespace.
    var ownPID: Int?
    /// The name of the ring in systemd's descriptor store, which holds the ring until the report is stored.
    var keptName: String?
    /// Whether the descriptor store may drop the ring as soon as the report is stored.
    var mayForget = false

    var bytes: Int { raw.count + 4_096 * report.threads.count }
  }

  /// A partial or full recovery of the store: waiting reports are stored, or files left in the spool are due again.
  struct Change: Sendable {
    /// Whether the store had failed and no report or file waits any more.
    ///
    /// Work that failed may then succeed.
    var isWell: Bool
  }

  private struct State {
    var listeners: [AsyncStream<Change>.Continuation] = []
    var held: [Held] = []
    var bytes = 0
    var failure: String?
    var since: String?
    var corruption: String?
    var notes: [String] = []
    /// How many times a spool file was left in place.
    var leavings: UInt64 = 0
    var hasLeftFiles = false

    mutating func note(_ error: StoreError) {
      if error.isCorruption { corruption = error.description }
      guard error.isOutage else { return }
      failure = error.description
      if since == nil { since = Moment.now().description }
    }
  }

  private let state = Mutex(State())
  private let limits: Limits
  /// A stream with one element for any number of reasons to check the store.
  let wakeUps: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private static let notesLimit = 8

  /// `failure` is the reason why the store is not open at the start, or nil if it is open.
  init(limits: Limits, failure: StoreError? = nil) {
    self.limits = limits
    (wakeUps, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if let failure { note(failure) }
  }

  /// Makes the store keeper check the store.
  func wake() { waker.yield() }

  /// Returns a stream of all later changes, without dropping any.
  func changes() -> AsyncStream<Change> {
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    state.withLock { $0.listeners.append(continuation) }
    return stream
  }

  /// Publishes a change.
  ///
  /// Only the store keeper calls this method.
  func publish(_ change: Change) {
    for listener in state.withLock({ $0.listeners }) { listener.yield(change) }
  }

  /// Holds a report that the store did not accept.
  /// - Returns: False if there is no room.
  func hold(_ item: Held, because error: StoreError) -> Bool {
    // Ordering: the store keeper is woken last. If it saw the failure without the report, it would consider the store
    // recovered.
    defer { if error.isOutage { wake() } }
    return state.withLock { state in
      state.note(error)
      if let old = state.held.firstIndex(where: { $0.report.id == item.report.id }) {
        state.bytes += item.bytes - state.held[old].bytes
        state.held[old] = item
        return true
      }
      guard state.held.count < limits.heldReports, state.bytes + item.bytes <= limits.heldBytes else { return false }
      state.held.append(item)
      state.bytes += item.bytes
      return true
    }
  }

  /// Records a failed read or write, and wakes the store keeper.
  func notice(_ error: StoreError) {
    note(error)
    if error.isOutage { wake() }
  }

  /// Records a failure that the store keeper itself found.
  ///
  /// The store keeper retries on its own schedule.
  func note(_ error: StoreError) {
    state.withLock { $0.note(error) }
  }

  /// Records that a file stays in the spool, because the store is failing or crashd lacks a resource.
  ///
  /// The store keeper later triggers another reading of the spool.
  func leaveFile(because error: StoreError? = nil) {
    if let error { note(error) }
    let isFirst = state.withLock { state in
      state.leavings &+= 1
      defer { state.hasLeftFiles = true }
      return !state.hasLeftFiles
    }
    // Only the first left file wakes the store keeper. It retries the others on its own schedule.
    if isFirst { wake() }
  }

  /// How many times files were left, or nil if no file waits.
  var leavings: UInt64? { state.withLock { $0.hasLeftFiles ? $0.leavings : nil } }

  /// Records that all files that existed when `leavings` was read have been read again.
  func readLeftFiles(since leavings: UInt64?) {
    state.withLock { state in
      if state.leavings == leavings { state.hasLeftFiles = false }
    }
    wake()
  }

  /// Returns the recorded corruption and clears it, so that it is handled once.
  func takeCorruption() -> String? {
    state.withLock { state in
      defer { state.corruption = nil }
      return state.corruption
    }
  }

  /// Adds a sentence for the operator, which stays until crashd restarts.
  func note(_ sentence: String) {
    state.withLock { state in
      state.notes.append(sentence)
      if state.notes.count > Self.notesLimit { state.notes.removeFirst() }
    }
  }

  /// The oldest waiting report.
  var first: Held? { state.withLock { $0.held.first } }
  var count: Int { state.withLock { $0.held.count } }

  func isHolding(pid: Int32) -> Bool { state.withLock { $0.held.contains { $0.owner.pid == pid } } }

  func isHolding(report id: String, of user: UInt32) -> Bool {
    state.withLock { $0.held.contains { $0.report.id == id && $0.owner.uid == user } }
  }

  /// Removes a report that is stored or can never be stored.
  func release(_ id: String) -> Held? {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.report.id == id }) else { return nil }
      let item = state.held.remove(at: index)
      state.bytes -= item.bytes
      return item
    }
  }

  /// Whether systemd may now drop the ring of an ended process.
  ///
  /// If not, systemd drops the ring when the report is stored.
  /// - Returns: True if no held report needs the ring.
  func mayForget(_ keptName: String) -> Bool {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.keptName == keptName }) else { return true }
      state.held[index].mayForget = true
      return false
    }
  }

  /// Whether the store is known to fail.
  var isFailing: Bool { state.withLock { $0.failure != nil } }

  /// Records that the store accepts reports again.
  /// - Returns: Whether the store was failing before.
  func recovered() -> Bool {
    state.withLock { state in
      // If another report was held in the meantime, the store has failed again.
      guard state.held.isEmpty else { return false }
      defer { (state.failure, state.since) = (nil, nil) }
      return state.failure != nil
    }
  }

  /// Sentences for the operator; empty if the store has not failed.
  var sentences: [String] {
    state.withLock { state in
      var sentences = state.notes
      if let failure = state.failure {
        let files = state.hasLeftFiles ? ", more in the spool" : ""
        sentences.insert(
          """
          reports cannot be stored since \(state.since ?? "the start"): \(failure); \(state.held.count) wait in \
          memory\(files)
          """, at: 0)
      }
      return sentences
    }
  }
}

extension StoreError {
  /// Whether the store as a whole is failing, as opposed to one operation.
  var isOutage: Bool {
    switch self {
    case .unavailable, .corrupt: true
    default: false
    }
  }
}
