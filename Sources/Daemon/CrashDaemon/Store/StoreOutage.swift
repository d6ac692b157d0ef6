import CrashReport
import CrashStore
import Synchronization

/// Failures of the store, and the reports that wait in memory until it recovers.
///
/// During an outage, such as a full disk or a replaced database, no crash is lost while its reports fit.
final class StoreOutage: Sendable {
  /// A report that is not stored yet.
  struct Held: Sendable {
    var report: CrashReport
    var raw: [UInt8]
    var owner: Peer
    var process: String
    /// The pid in the process's own namespace.
    var ownPID: Int?
    /// The name in systemd's descriptor store, which holds the ring until the report is stored.
    var keptName: String?
    /// Whether the descriptor store may drop the ring as soon as the report is stored.
    var mayForget = false

    var bytes: Int { raw.count + 4_096 * report.threads.count }
  }

  /// The store recovered partly: waiting reports are stored, or left spool files are due again.
  struct Change: Sendable {
    /// The store failed before, and nothing waits any more: failed work may succeed now.
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
    /// Spool files that were left in place, counted each time.
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
  /// One element for any number of reasons to check the store.
  let wakeUps: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private static let notesLimit = 8

  /// `failure`: why the store is not open at the start; nil: it is.
  init(limits: Limits, failure: StoreError? = nil) {
    self.limits = limits
    (wakeUps, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if let failure { note(failure) }
  }

  /// Makes the keeper check the store.
  func wake() { waker.yield() }

  /// All changes from now on; they are buffered for the consumer.
  func changes() -> AsyncStream<Change> {
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    state.withLock { $0.listeners.append(continuation) }
    return stream
  }

  /// Publishes a change; only the keeper calls it.
  func publish(_ change: Change) {
    for listener in state.withLock({ $0.listeners }) { listener.yield(change) }
  }

  /// Holds a report that the store did not accept.
  /// - Returns: False: there is no room.
  func hold(_ item: Held, because error: StoreError) -> Bool {
    // Ordering: the keeper wakes last. If it saw the failure without the report, it would consider the store recovered.
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

  /// Records a failed read or write, and wakes the keeper.
  func notice(_ error: StoreError) {
    note(error)
    if error.isOutage { wake() }
  }

  /// The same for the keeper itself, which retries at its own time.
  func note(_ error: StoreError) {
    state.withLock { $0.note(error) }
  }

  /// Records that a file stays in the spool, because the store fails or crashd lacks a resource.
  ///
  /// The keeper triggers another reading of the spool.
  func leaveFile(because error: StoreError? = nil) {
    if let error { note(error) }
    let isFirst = state.withLock { state in
      state.leavings &+= 1
      defer { state.hasLeftFiles = true }
      return !state.hasLeftFiles
    }
    // Only the first one wakes the keeper, which retries the others at its own time.
    if isFirst { wake() }
  }

  /// How many times files were left; nil: none waits.
  var leavings: UInt64? { state.withLock { $0.hasLeftFiles ? $0.leavings : nil } }

  /// Records that all files have been read again that existed when `leavings` was read.
  func readLeftFiles(since leavings: UInt64?) {
    state.withLock { state in
      if state.leavings == leavings { state.hasLeftFiles = false }
    }
    wake()
  }

  /// Takes the finding of corruption, which is reported once.
  func takeCorruption() -> String? {
    state.withLock { state in
      defer { state.corruption = nil }
      return state.corruption
    }
  }

  /// Adds a sentence for the operator that stays until crashd restarts.
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

  /// Removes a report: it is stored, or never will be.
  func release(_ id: String) -> Held? {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.report.id == id }) else { return nil }
      let item = state.held.remove(at: index)
      state.bytes -= item.bytes
      return item
    }
  }

  /// Whether systemd may drop the ring of an ended process now; else it does when the report is stored.
  /// - Returns: Whether now.
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
  /// - Returns: Whether it did not before.
  func recovered() -> Bool {
    state.withLock { state in
      // A report that arrived meanwhile brings its own failure.
      guard state.held.isEmpty else { return false }
      defer { (state.failure, state.since) = (nil, nil) }
      return state.failure != nil
    }
  }

  /// Sentences for the operator; empty: no failure.
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
  /// Whether the store as such fails now.
  var isOutage: Bool {
    switch self {
    case .unavailable, .corrupt: true
    default: false
    }
  }
}
