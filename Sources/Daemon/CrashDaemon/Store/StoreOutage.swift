import CrashReport
import CrashStore
import Synchronization

/// Records failures of the store, and holds reports in memory until the store recovers.
///
/// An outage is, for example, a full disk or a replaced database. No crash is lost during an outage as long as the
/// reports fit into memory.
final class StoreOutage: Sendable {
  /// A report that waits in memory until the store accepts it.
  struct Held: Sendable {
    var report: CrashReport
    var raw: [UInt8]
    var owner: Peer
    var process: String
    /// The pid of the process in its own PID namespace.
    var ownPID: Int?
    /// The name under which systemd's descriptor store holds the ring (the process's crash records); crashd removes the
    /// ring from there after the report is stored.
    var keptName: String?
    /// Whether systemd is allowed to drop the ring as soon as the report is stored.
    var mayForget = false

    var bytes: Int { raw.count + 4_096 * report.threads.count }
  }

  /// A partial or full recovery of the store: crashd stored reports that waited, or should read again the files that an
  /// earlier reading left in the spool directory.
  struct Change: Sendable {
    /// Whether the store has recovered completely: no report or file waits any more.
    ///
    /// Work that failed during the outage can succeed after a complete recovery.
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
    /// How often a spool file was left in the spool.
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
  /// The stream that wakes the store keeper.
  ///
  /// Several requests are combined into one element of the stream.
  let wakeUps: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private static let notesLimit = 8

  /// The parameter `failure` is the reason why crashd could not open the store at its start; nil if the store is open.
  init(limits: Limits, failure: StoreError? = nil) {
    self.limits = limits
    (wakeUps, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    if let failure { note(failure) }
  }

  /// Asks the store keeper to check the store.
  func wake() { waker.yield() }

  /// Returns a stream of all changes in the health of the store after this call.
  ///
  /// The stream drops no change.
  func changes() -> AsyncStream<Change> {
    let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
    state.withLock { $0.listeners.append(continuation) }
    return stream
  }

  /// Publishes a change to all streams.
  ///
  /// Only the store keeper is allowed to call this method.
  func publish(_ change: Change) {
    for listener in state.withLock({ $0.listeners }) { listener.yield(change) }
  }

  /// Holds a report in memory that the store did not accept.
  /// - Returns: The result is false if there is no room in memory.
  func hold(_ item: Held, because error: StoreError) -> Bool {
    // Ordering: wake the store keeper only after the report was added. Otherwise, the store keeper could find no
    // waiting report, and would conclude that the store has recovered.
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

  /// Records that an operation of the store failed, and wakes the store keeper.
  func notice(_ error: StoreError) {
    note(error)
    if error.isOutage { wake() }
  }

  /// Records a failure of the store that the store keeper itself detected.
  ///
  /// The call does not wake the store keeper, because the store keeper retries at fixed intervals.
  func note(_ error: StoreError) {
    state.withLock { $0.note(error) }
  }

  /// Records that a file stays in the spool, because the store fails or crashd lacks a resource.
  ///
  /// The store keeper later asks the pipeline to read the spool again.
  func leaveFile(because error: StoreError? = nil) {
    if let error { note(error) }
    let isFirst = state.withLock { state in
      state.leavings &+= 1
      defer { state.hasLeftFiles = true }
      return !state.hasLeftFiles
    }
    // Only the first file that is left in the spool wakes the store keeper. For later files, the wake-up is not needed,
    // because the store keeper already waits for its next attempt.
    if isFirst { wake() }
  }

  /// How often files were left in the spool since crashd started; nil if all these files were read again.
  var leavings: UInt64? { state.withLock { $0.hasLeftFiles ? $0.leavings : nil } }

  /// Records that all files that were left in the spool before a given time were read.
  ///
  /// The parameter `leavings` is the value that the property `leavings` had at that time.
  func readLeftFiles(since leavings: UInt64?) {
    state.withLock { state in
      if state.leavings == leavings { state.hasLeftFiles = false }
    }
    wake()
  }

  /// Returns the recorded corruption of the database and clears it, so that the corruption is handled only once.
  func takeCorruption() -> String? {
    state.withLock { state in
      defer { state.corruption = nil }
      return state.corruption
    }
  }

  /// Adds a sentence to the state of the store that operators see in the status.
  ///
  /// The sentence stays until crashd restarts.
  func note(_ sentence: String) {
    state.withLock { state in
      state.notes.append(sentence)
      if state.notes.count > Self.notesLimit { state.notes.removeFirst() }
    }
  }

  /// The report that has waited longest; nil if no report waits.
  var first: Held? { state.withLock { $0.held.first } }
  var count: Int { state.withLock { $0.held.count } }

  func isHolding(pid: Int32) -> Bool { state.withLock { $0.held.contains { $0.owner.pid == pid } } }

  func isHolding(report id: String, of user: UInt32) -> Bool {
    state.withLock { $0.held.contains { $0.report.id == id && $0.owner.uid == user } }
  }

  /// Removes a held report that is stored or can never be stored.
  func release(_ id: String) -> Held? {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.report.id == id }) else { return nil }
      let item = state.held.remove(at: index)
      state.bytes -= item.bytes
      return item
    }
  }

  /// Whether systemd is allowed to drop the ring of an ended process now.
  ///
  /// If the result is false, the store keeper tells systemd to drop the ring after the report is stored.
  /// - Returns: The result is true if no held report needs the ring.
  func mayForget(_ keptName: String) -> Bool {
    state.withLock { state in
      guard let index = state.held.firstIndex(where: { $0.keptName == keptName }) else { return true }
      state.held[index].mayForget = true
      return false
    }
  }

  /// Whether a failure of the store is recorded.
  var isFailing: Bool { state.withLock { $0.failure != nil } }

  /// Records that the store accepts reports again, unless a held report still waits.
  /// - Returns: Whether the store was failing before this call.
  func recovered() -> Bool {
    state.withLock { state in
      // Return if a report is held in memory, because in this case the store has failed again.
      guard state.held.isEmpty else { return false }
      defer { (state.failure, state.since) = (nil, nil) }
      return state.failure != nil
    }
  }

  /// The sentences about the state of the store for the operator; empty if the store did not fail.
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
  /// Whether the store as a whole fails, as opposed to a single operation.
  var isOutage: Bool {
    switch self {
    case .unavailable, .corrupt: true
    default: false
    }
  }
}
