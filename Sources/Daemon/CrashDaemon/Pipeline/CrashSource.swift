import CrashRing
import CrashStore

/// A ring that is read for a crash: of an attached process, or from a spool file.
protocol CrashSource: Sendable {
  var process: AttachedProcess { get }
  /// The result of the last reading.
  var seen: CrashAnalysis.Seen? { get }
  /// The process can write no more.
  var isFinal: Bool { get }

  /// Counts the losses that a final reading found.
  ///
  /// Called twice: after the reading, and when the ring `isSettled`, that is, everything in it is stored or nothing is
  /// new.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger)
  /// Holds a report in memory while the store does not accept it.
  /// - Returns: False when there is no room, or when the source itself still has the report.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool
  /// The outcome of a report that is neither stored nor held; nil when it is lost.
  func outcome(of error: StoreError) -> CrashAnalysis.Outcome?
}

/// The ring of a process that is attached, or was until now.
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
/// The file stays and is read again until its report is stored.
struct SpooledFile: CrashSource {
  let process: AttachedProcess
  var seen: CrashAnalysis.Seen? { nil }
  var isFinal: Bool { true }

  /// Every earlier reading would count them again.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {
    if isSettled { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
  }

  /// The file is as safe a place as memory.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool { false }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { error.isOutage ? .unanswered(error) : nil }
}
