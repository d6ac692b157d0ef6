import Glibc

/// The lifecycle of a process in the pipeline: attached → crashed → read → symbolicated → stored → ended.
///
/// Four parts of the state change independently: the turn, the presence of the process, the ring (the memory with its
/// crash records), and the outcome of the crash. The turn states whether a reading of the ring is queued, is running,
/// or neither. In the table, an empty cell means that this part does not change.
///
/// | event         | turn                     | presence                  | ring     | crash                      |
/// |---------------|--------------------------|---------------------------|----------|----------------------------|
/// | `init`        | idle                     | attached                  | open     | none                       |
/// | `announce`    | idle → queued ¹          | attached → disconnected ² |          |                            |
/// |               | reading → readingAndDue  |                           |          |                            |
/// | `noteEnd`     | as `announce`            | → ended                   |          |                            |
/// | `takeTurn`    | → reading ³              |                           |          |                            |
/// | `noteReading` |                          |                           | → read ⁴ | → stored, held or failed ⁵ |
/// | `finishTurn`  | reading → idle           |                           |          |                            |
/// |               | readingAndDue → queued ¹ |                           |          |                            |
///
/// ¹ The pipeline then requests a permit to read the ring. ² This change occurs only if the socket of the process is
/// closed. ³ The pipeline has the permit, and now reads, symbolicates and stores the ring (`CrashAnalysis.analyse`). ⁴
/// Only the final reading makes this change; the ring is not read again. ⁵ This change occurs only if the reading found
/// something new.
///
/// After the final reading of an ended process, the pipeline stores a report if the process ended abnormally without a
/// crash record, and then removes the process.
struct ProcessLife: Sendable {
  enum Turn: Sendable {
    case idle
    /// The ring has unread records, and its reading waits for a permit.
    case queued
    case reading
    /// The process announced more records after the current reading began, so another reading is due.
    case readingAndDue
  }

  enum Presence: Sendable {
    case attached
    /// The socket is closed, but crashd does not know yet how the process ended.
    case disconnected
    case ended(EndedProcess)
  }

  enum Ring: Sendable {
    case open
    case read
  }

  /// The outcome of the last reading that found something new.
  enum Crash: Sendable {
    case none
    case stored
    /// The report waits in memory until the store accepts it.
    case held
    /// The report could not be stored, and was counted as lost.
    case failed
  }

  /// The effect of an announcement by a process on the readings of its ring.
  enum Announcement: Sendable {
    /// The caller must begin a reading.
    case begins
    /// A reading that covers the announced records is already running or queued.
    case joins
    /// The announcement is ignored, because the process made too many announcements without a new record.
    case isIgnored
  }

  let process: AttachedProcess
  /// The task that queues the symbol jobs for the process's images; nil if no such task is needed.
  var preparation: Task<Void, Never>?
  /// The task that queues the jobs for the process's unwind tables; nil if no such task is needed.
  var tables: Task<Void, Never>?

  /// How the requests of the process are counted; nil if they are not counted.
  var requests: RequestTotals.Member?

  private(set) var turn = Turn.idle
  private(set) var presence = Presence.attached
  private(set) var ring = Ring.open
  private(set) var crash = Crash.none
  private(set) var seen: CrashAnalysis.Seen?
  private(set) var reports: [String] = []
  /// Whether crashd has made a report of an unreported exit.
  private(set) var hasSilentDeath = false
  private var emptyWakes = 0

  init(process: AttachedProcess) { self.process = process }
}

// Handles the events that change the state of a process.
extension ProcessLife {
  /// Records that the ring has new records, or that the socket is closed (`isClosed`).
  mutating func announce(isClosed: Bool, emptyWakesLimit: Int) -> Announcement {
    if isClosed, case .attached = presence { presence = .disconnected }
    if emptyWakes >= emptyWakesLimit && !isClosed { return .isIgnored }
    return queue()
  }

  mutating func noteEnd(_ ended: EndedProcess) -> Announcement {
    presence = .ended(ended)
    return queue()
  }

  mutating func takeTurn() { turn = .reading }

  mutating func noteReading(_ outcome: CrashAnalysis.Outcome, isFinal: Bool) {
    note(outcome)
    switch outcome {
    case .nothingNew: break
    case .stored: crash = .stored
    // The ring of an attached process never has the outcome `unanswered`. Treat it as `held`.
    case .held, .unanswered: crash = .held
    case .failed: crash = .failed
    }
    if isFinal { ring = .read }
  }

  mutating func noteSilentDeath(_ outcome: CrashAnalysis.Outcome) {
    note(outcome)
    switch outcome {
    case .stored, .held: hasSilentDeath = true
    case .nothingNew, .failed, .unanswered: break
    }
  }

  /// Ends the current reading.
  ///
  /// - Returns: Whether another reading must begin.
  mutating func finishTurn() -> Bool {
    let isDue = turn == .queued || turn == .readingAndDue
    turn = isDue ? .queued : .idle
    return isDue
  }

  private mutating func queue() -> Announcement {
    switch turn {
    case .idle:
      turn = .queued
      return .begins
    case .queued: return .joins
    case .reading, .readingAndDue:
      turn = .readingAndDue
      return .joins
    }
  }

  private mutating func note(_ outcome: CrashAnalysis.Outcome) {
    switch outcome {
    case .nothingNew: emptyWakes += 1
    case .failed, .unanswered: break
    case .stored(let id, let seen), .held(let id, let seen):
      self.seen = seen
      if !reports.contains(id) { reports.append(id) }
    }
  }
}

// Derives values from the state of a process.
extension ProcessLife {
  /// How the process ended; nil until crashd knows the exit status.
  var end: EndedProcess? { if case .ended(let ended) = presence { ended } else { nil } }

  /// Whether crashd has read a crash record of the process; true even if the record could not be stored.
  var hasCrashed: Bool { crash != .none }

  /// Whether a crash ended the process; nil if the process still runs, even if it no longer uses this ring.
  ///
  /// A SIGKILL from outside is not a crash of the program, unless the kernel sent it because memory ran out.
  var isEndedByCrash: Bool? {
    guard let end, end.end != .goesOn else { return nil }
    if hasCrashed { return true }
    return hasSilentDeath && (end.end.signal != SIGKILL || end.memory?.isVictim == true)
  }

  /// Whether no reading of the ring is queued or running, and crashd does not wait for the exit status.
  ///
  /// After a crash, crashd does not wait for the exit status, because the crash most probably ends the process.
  var isSettled: Bool {
    guard turn == .idle else { return false }
    if case .disconnected = presence { return hasCrashed && ring == .read }
    return true
  }

  /// Whether several threads of the process crashed.
  ///
  /// If so, the exit status shows which thread's signal ended the process.
  var hasSeveralCrashes: Bool { hasCrashed && (seen?.records.count ?? 0) > 1 }

  /// Whether the last reading found that the process was draining: finishing its other requests after a trap.
  var drains: Bool { seen?.drains ?? false }

  /// Whether all reports of the process are stored and the process has exited.
  ///
  /// A process that still runs is not done, because it can crash again and write another ring to the spool.
  var isDone: Bool {
    let isDead = if case .status = end?.end { true } else { false }
    return crash == .stored && ring == .read && isDead
  }
}
