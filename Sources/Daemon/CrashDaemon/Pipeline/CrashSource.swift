import CrashRing
import CrashStore

/// A ring that is read for a crash, either of an attached process or from a spool file.
protocol CrashSource: Sendable {
  var process: AttachedProcess { get }
  /// The contents that the last reading found.
  var seen: CrashAnalysis.Seen? { get }
  /// Whether the process can no longer write to the ring.
  var isFinal: Bool { get }

  /// Counts the losses that a final reading found.
  ///
  /// Called twice: first after the reading, and then with `isSettled` when everything in the ring is stored or the ring
  /// contains nothing new.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger)
  /// Keeps a report in memory while the store does not accept it.
  /// - Returns: False if memory has no room for the report, or if the source itself preserves the ring.
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
/// The file stays in the spool and is read again until its report is stored.
struct SpooledFile: CrashSource {
  let process: AttachedProcess
  var seen: CrashAnalysis.Seen? { nil }
  var isFinal: Bool { true }

  /// Counts losses only when they are settled.
  ///
  /// Otherwise a file that is read several times would count its losses several times.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {
    if isSettled { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
  }

  /// Keeps nothing in memory, because the spool file preserves the ring as safely.
  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool { false }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { error.isOutage ? .unanswered(error) : nil }
}
