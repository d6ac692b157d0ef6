/// The life of a process in the pipeline: attached → crashed → read → symbolicated → stored → ended.
///
/// Four states change independently: the turn of its ring, the presence of the process, the ring, and the outcome of
/// its crash. An empty cell changes nothing.
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
/// ¹ The pipeline asks for a permit. ² When its socket is closed. ³ In its turn a ring is read, symbolicated and
/// committed (`CrashAnalysis.analyse`). ⁴ By the final reading, after which it is not read again. ⁵ Unless there was
/// nothing new.
///
/// At the end of a turn with the final reading of a process that has ended, the pipeline reports an unreported exit, if
/// it was one, and removes the process.
struct ProcessLife: Sendable {
  enum Turn: Sendable {
    case idle
    /// The ring has news and waits for its turn.
    case queued
    case reading
    /// More news came since the turn began.
    case readingAndDue
  }

  enum Presence: Sendable {
    case attached
    /// Its socket is closed, and how it ended is not known yet.
    case disconnected
    case ended(EndedProcess)
  }

  enum Ring: Sendable {
    case open
    case read
  }

  /// The outcome of the last reading with news.
  enum Crash: Sendable {
    case none
    case stored
    /// The report waits in memory.
    case held
    /// It could not be stored, and is counted as lost.
    case failed
  }

  /// The effect of an announcement.
  enum Announcement: Sendable {
    /// A turn must begin.
    case begins
    /// A turn is under way or queued.
    case joins
    /// Too many of its wake-ups have brought nothing new.
    case isIgnored
  }

  let process: AttachedProcess
  /// Ends when the symbol jobs for its images are queued; nil: they were already.
  var preparation: Task<Void, Never>?
  /// The same for the jobs of its unwind tables.
  var tables: Task<Void, Never>?

  private(set) var turn = Turn.idle
  private(set) var presence = Presence.attached
  private(set) var ring = Ring.open
  private(set) var crash = Crash.none
  private(set) var seen: CrashAnalysis.Seen?
  private(set) var reports: [String] = []
  private var emptyWakes = 0

  init(process: AttachedProcess) { self.process = process }
}

// Events.
extension ProcessLife {
  /// Its ring has news, or its socket `isClosed`.
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
    // `unanswered` comes only from spool files: the report of a process's ring is stored, held or lost.
    case .held, .unanswered: crash = .held
    case .failed: crash = .failed
    }
    if isFinal { ring = .read }
  }

  mutating func noteSilentDeath(_ outcome: CrashAnalysis.Outcome) { note(outcome) }

  /// - Returns: Whether the next turn must begin.
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

// Derived values.
extension ProcessLife {
  /// How the process ended; nil until that is known.
  var end: EndedProcess? { if case .ended(let ended) = presence { ended } else { nil } }

  /// A record was read, or could not be stored.
  var hasCrashed: Bool { crash != .none }

  /// A crashed process is settled when its record is read: as far as is known, that is its end.
  var isSettled: Bool {
    guard turn == .idle else { return false }
    if case .disconnected = presence { return hasCrashed && ring == .read }
    return true
  }

  /// Several threads crashed: the exit status shows which of them ended the process.
  var hasSeveralCrashes: Bool { hasCrashed && (seen?.records.count ?? 0) > 1 }

  /// Everything of it is stored, and no more can come: a process that runs on may leave another ring at any moment.
  var isDone: Bool {
    let isDead = if case .status = end?.end { true } else { false }
    return crash == .stored && ring == .read && isDead
  }
}
