import CrashRing
import CrashStore

/// A ring (the crash records of one process) that crashd reads because of a crash: the ring of an attached process, a
/// ring in a spool file, or a ring that crashd rebuilt from an imported record line.
protocol CrashSource: Sendable {
  var process: AttachedProcess { get }
  /// The contents that the last reading found; nil if the ring was not read before.
  var seen: CrashAnalysis.Seen? { get }
  /// Whether the process can no longer write to the ring.
  var isFinal: Bool { get }

  /// Counts the lost records that the last reading of the ring found.
  ///
  /// The function is called twice. The first call follows the reading. The second call, with `isSettled`, follows when
  /// all contents of the ring are stored, or when the ring contains nothing new.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger)
  /// Keeps a report in memory while the store does not accept it.
  /// - Returns: Returns false if memory has no room for the report, or if a spool file already preserves the ring.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool
  /// Returns the outcome for a report that is neither stored nor held in memory; nil if the report is lost.
  func outcome(of error: StoreError) -> CrashAnalysis.Outcome?
}

/// The ring of a process that is attached or has just ended.
struct AttachedRing: CrashSource {
  let process: AttachedProcess
  let seen: CrashAnalysis.Seen?
  let isFinal: Bool

  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {
    if !isSettled { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
  }

  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool {
    outage.hold(report, because: error)
  }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { nil }
}

/// The ring in a spool file.
///
/// The file stays in the spool and is read again until its report is stored.
struct SpooledFile: CrashSource {
  let process: AttachedProcess
  var seen: CrashAnalysis.Seen? { nil }
  var isFinal: Bool { true }

  /// Counts lost records only if `isSettled` is true.
  ///
  /// Otherwise, a file that crashd reads several times would be counted several times.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {
    if isSettled { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
  }

  /// Holds nothing in memory, because the spool file already preserves the ring.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool { false }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { error.isOutage ? .unanswered(error) : nil }
}
