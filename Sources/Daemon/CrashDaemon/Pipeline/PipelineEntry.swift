/// What the pipeline knows of a process that is attached, or was a moment ago.
struct PipelineEntry: Sendable {
  var process: AttachedProcess
  /// Symbol jobs for its images are in the queue when this has ended; nil: they were already.
  var preparation: Task<Void, Never>?
  /// The same of the jobs for its unwind tables.
  var tables: Task<Void, Never>?
  var isBusy = false
  var isDirty = false
  var emptyWakes = 0
  var seen: CrashAnalysis.Seen?
  var reports: [String] = []
  /// How it went away; nil until that is known.
  var end: EndedProcess?
  /// Its connection is gone: what it left waits for `end`.
  var isEnding = false
  /// Its ring was read for the last time.
  var isRead = false
  /// A record was read, or could not be stored.
  var hasCrashed = false
  /// What the last look with news found is in the store.
  var isStored = false
  /// It could not be stored, and is counted as lost.
  var hasFailed = false

  init(process: AttachedProcess, preparation: Task<Void, Never>? = nil, tables: Task<Void, Never>? = nil) {
    (self.process, self.preparation, self.tables) = (process, preparation, tables)
  }

  /// A process that crashed is settled when its record is read: that is its end, as far as is known.
  var isSettled: Bool { !isBusy && !isDirty && (!isEnding || (hasCrashed && isRead)) }

  /// Threads crashed at once: its end shows which of them ended it.
  var hasSeveralCrashes: Bool { hasCrashed && (seen?.records.count ?? 0) > 1 }

  /// Everything of it is stored, and nothing more can come: one that goes on may leave another ring any moment.
  var isDone: Bool {
    let isDead = if case .status = end?.end { true } else { false }
    return isStored && isRead && isDead
  }

  /// There is news of it.
  /// - Returns: Whether its ring is not being read already; then that is outstanding.
  mutating func isToBegin(_ outstanding: Outstanding) -> Bool {
    isDirty = true
    if isBusy { return false }
    outstanding.begin()
    isBusy = true
    return true
  }

  mutating func note(_ outcome: CrashAnalysis.Outcome) {
    switch outcome {
    case .nothingNew: emptyWakes += 1
    case .failed, .unanswered: break
    case .stored(let id, let seen), .held(let id, let seen):
      self.seen = seen
      if !reports.contains(id) { reports.append(id) }
    }
  }

  mutating func note(look outcome: CrashAnalysis.Outcome, isFinal: Bool) {
    note(outcome)
    if outcome != .nothingNew {
      hasCrashed = true
      hasFailed = outcome == .failed
      isStored = if case .stored = outcome { true } else { false }
    }
    if isFinal { isRead = true }
  }
}
