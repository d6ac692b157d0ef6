import CrashReport
import CrashStore
import Synchronization

/// What is wrong with the store, and the reports that wait in memory until it is well again.
///
/// A full disk, or a database that is being replaced, loses no crash as long as the reports of it fit.
final class StoreTrouble: Sendable {
  /// A report that could not be stored yet.
  struct Held: Sendable {
    var report: CrashReport
    var raw: [UInt8]
    var owner: Peer
    var process: String
    /// As the process sees itself.
    var ownPID: Int?
    /// systemd keeps the ring under this name as long as the report is not stored.
    var keptName: String?
    /// Whether nobody else lets go of it.
    var mayForget = false

    var bytes: Int { raw.count + 4_096 * report.threads.count }
  }

  /// The store takes more than it did: reports that waited are stored, or spool files that were left are due again.
  struct Change: Sendable {
    /// The store did not work before, and nothing waits any more: what failed may succeed now.
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
    /// Spool files that were left where they are, counted each time.
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
  /// One element for any number of occasions to look after the store.
  let wakeUps: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private static let notesLimit = 8

  /// `failure`: why the store is not open at the start; nil: it is.
  init(limits: Limits, failure: StoreError? = nil) {
    self.limits = limits
    (wakeUps, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if let failure { note(failure) }
  }

  /// Has the keeper look after the store.
  func wake() { waker.yield() }

  /// All changes from now on; they wait for a consumer.
  func changes() -> AsyncStream<Change> {
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    state.withLock { $0.listeners.append(continuation) }
    return stream
  }

  /// For the keeper, which brings each change about.
  func publish(_ change: Change) {
    for listener in state.withLock({ $0.listeners }) { listener.yield(change) }
  }

  /// Keeps a report that the store did not take.
  /// - Returns: false: there is no room.
  func hold(_ item: Held, because error: StoreError) -> Bool {
    // The keeper wakes last: where it sees the failure without the report, it takes the store for well.
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

  /// Something could not be read or written: the keeper looks after it.
  func notice(_ error: StoreError) {
    note(error)
    if error.isOutage { wake() }
  }

  /// The same, for the keeper itself, which tries again when it is time.
  func note(_ error: StoreError) {
    state.withLock { $0.note(error) }
  }

  /// A file stays in the spool, because the store does not answer or crashd itself lacks something: the keeper has the
  /// spool looked through again.
  func leaveFile(because error: StoreError? = nil) {
    if let error { note(error) }
    let isFirst = state.withLock { state in
      state.leavings &+= 1
      defer { state.hasLeftFiles = true }
      return !state.hasLeftFiles
    }
    // The others are left while the keeper knows of it: it comes again when it is time.
    if isFirst { wake() }
  }

  /// How often a file was left; nil: none waits.
  var leavings: UInt64? { state.withLock { $0.hasLeftFiles ? $0.leavings : nil } }

  /// Notes that all files were read again which were there when `leavings` was read.
  func readLeftFiles(since leavings: UInt64?) {
    state.withLock { state in
      if state.leavings == leavings { state.hasLeftFiles = false }
    }
    wake()
  }

  /// What is found to be corrupt; it is told once.
  func takeCorruption() -> String? {
    state.withLock { state in
      defer { state.corruption = nil }
      return state.corruption
    }
  }

  /// What the operator is to know until crashd is started again.
  func note(_ sentence: String) {
    state.withLock { state in
      state.notes.append(sentence)
      if state.notes.count > Self.notesLimit { state.notes.removeFirst() }
    }
  }

  /// The first one that waits.
  var first: Held? { state.withLock { $0.held.first } }
  var count: Int { state.withLock { $0.held.count } }

  func isHolding(pid: Int32) -> Bool { state.withLock { $0.held.contains { $0.owner.pid == pid } } }

  func isHolding(report id: String, of user: UInt32) -> Bool {
    state.withLock { $0.held.contains { $0.report.id == id && $0.owner.uid == user } }
  }

  /// It is stored, or never will be.
  func release(_ id: String) -> Held? {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.report.id == id }) else { return nil }
      let item = state.held.remove(at: index)
      state.bytes -= item.bytes
      return item
    }
  }

  /// The process has ended, and systemd may let go of its ring: now, or when its report is stored.
  /// - Returns: Whether now.
  func mayForget(_ keptName: String) -> Bool {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.keptName == keptName }) else { return true }
      state.held[index].mayForget = true
      return false
    }
  }

  /// Whether the store is known not to work.
  var isFailing: Bool { state.withLock { $0.failure != nil } }

  /// The store takes reports again.
  /// - Returns: Whether it did not before.
  func recovered() -> Bool {
    state.withLock { state in
      // One that has come meanwhile has its failure.
      guard state.held.isEmpty else { return false }
      defer { (state.failure, state.since) = (nil, nil) }
      return state.failure != nil
    }
  }

  /// Sentences for the operator; none: all is well.
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
  /// Whether the store as such does not work now.
  var isOutage: Bool {
    switch self {
    case .unavailable, .corrupt: true
    default: false
    }
  }
}
