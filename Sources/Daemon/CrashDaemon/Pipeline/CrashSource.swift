import CrashRing
import CrashStore

/// A ring that is read for a crash, either of an attached process or from a spool file.
protocol CrashSource: Sendable {
  var process: AttachedProcess { get }
  /// The result of the last reading.
  var seen: CrashAnalysis.Seen? { get }
  /// Whether the process can no longer write to the ring.
  var isFinal: Bool { get }

  /// Counts the losses that a final reading found.
  ///
  /// Called twice: first after the reading, then with `isSettled` when everything in the ring is stored or nothing is
  /// new.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger)
  /// Holds a report in memory while the store does not accept it.
  /// - Returns: False if there is no room, or if the source itself keeps the ring.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool
  /// The outcome of a report that is neither stored nor held; nil if the report is lost.
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
/// The file stays and is read again until its report is stored.
struct SpooledFile: CrashSource {
  let process: AttachedProcess
  var seen: CrashAnalysis.Seen? { nil }
  var isFinal: Bool { true }

  /// Counts only settled losses, because the file may be read several times before its report is stored.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {
    if isSettled { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
  }

  /// Holds nothing, because the file is as safe a place as memory.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool { false }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { error.isOutage ? .unanswered(error) : nil }
}
