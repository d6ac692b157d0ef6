import CrashReport
import CrashRing
import LinuxSystem
import Logging

// Implements the first step of the analysis of a crash: reading the ring, into which the process wrote its crash
// records.
extension CrashAnalysis {
  /// The contents of a ring at one moment.
  struct Snapshot: Sendable {
    var contents: RingContents
    var stamp: RingStamp
    /// The requests that the first reading of the ring found; nil if they would take too much memory.
    ///
    /// Later readings lack requests that ended after the crash.
    var requests: RingContents.Requests?
    /// The copy of the ring that is stored together with the report.
    var raw: [UInt8] = []
    /// Whether `contents`, `raw` and `stamp` describe the same state of the ring.
    var isConsistent = false
    /// Whether the process has recorded non-fatal incidents.
    var hasIncidents: Bool
    /// The numbers of lost records that the first reading found, by kind.
    var losses: [String: Int]

    /// The contents that the report covers, for comparison with a later reading.
    var seen: Seen { Seen(contents, stamp: isConsistent ? stamp : nil) }
  }

  /// The result of the first reading of a ring.
  enum FirstReading: Sendable {
    case nothingNew(hasIncidents: Bool)
    case news(Snapshot)
  }

  @inline(never)
  func takeSnapshot(of source: some CrashSource) -> FirstReading {
    let ring = source.process.ring
    let stamp = ring.stamp()
    if let seen = source.seen, seen.isAll(of: stamp) {
      let (incidents, classes, _) = ring.observations()
      return .nothingNew(hasIncidents: !incidents.isEmpty || !classes.isEmpty)
    }
    let contents = read(source.process, isFinal: source.isFinal)
    let losses = source.isFinal ? contents.losses : [:]
    source.count(losses, isSettled: false, in: ledger)
    guard !contents.records.isEmpty, Seen(contents) != source.seen else {
      source.count(losses, isSettled: true, in: ledger)
      return .nothingNew(hasIncidents: contents.hasObservations)
    }
    return .news(
      Snapshot(
        contents: contents, stamp: stamp, requests: contents.requests, hasIncidents: contents.hasObservations,
        losses: losses))
  }

  func read(_ process: AttachedProcess, isFinal: Bool) -> RingContents {
    var contents = process.ring.contents(hasEnded: isFinal)
    if let times = process.facts.times { process.crashTimes.correct(&contents, times) }
    if withholdsMemory(of: process) { contents.withholdMemory() }
    // Do not count lost records and missing stacks of threads while the process runs. The process can still complete a
    // torn (partially written) record, and a thread can still answer the thread sweep, in which the handler requests
    // the stacks of all threads.
    if !isFinal { contents.losses["torn"] = nil }
    if !isFinal { contents.losses["silentThreads"] = nil }
    return contents
  }

  /// Whether crashd must not store any memory of the process, even if the ring contains memory.
  ///
  /// Memory is withheld if the operator has configured it, or if the process has more privileges than its user. The
  /// library in a process with more privileges should not record memory, but crashd does not rely on this.
  func withholdsMemory(of process: AttachedProcess) -> Bool {
    !process.isStored && (process.facts.isRestricted || settings.current.noMemory.hold(for: process.facts))
  }

  func excerpt(_ process: AttachedProcess) throws(SystemError) -> [UInt8] {
    try RingExcerpt.read(
      descriptor: process.ring.descriptor.number, withoutMemory: withholdsMemory(of: process))
  }
}

extension RingContents {
  var hasObservations: Bool { !incidents.isEmpty || !protectedClasses.isEmpty }
}
