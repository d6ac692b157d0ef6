import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import LinuxSystem
import Logging
import Synchronization

/// The way of one crash from the ring to the store: read, symbolicate, diagnose, group, store.
struct CrashAnalysis: Sendable {
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  /// For rings that are read, symbolicated and stored.
  var permits: FairSemaphore
  /// Time that reading the rings of each user takes.
  ///
  /// Those of a user beyond its allowance are read with a lower priority.
  var lookTime: CPUAccounts
  /// The same for rings that are read for announced incidents, which wait: they lower no crash's priority.
  var incidentTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var trouble: StoreTrouble
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// Of which processes no memory is kept.
  var settings = LiveSettings()
  /// What is shown of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  /// Learns of dangling crashes and of what the quarantine saw; nil in tests that have none.
  var policy: PolicyKeeper?

  /// Counts the time of one look; what it waits for symbols is not its own.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) { charge(lookTime, uid, since: start_ns) }

  /// Counts the time of one reading of announced incidents.
  func chargeIncidents(of uid: UInt32, since start_ns: UInt64) { charge(incidentTime, uid, since: start_ns) }

  private func charge(_ accounts: CPUAccounts, _ uid: UInt32, since start_ns: UInt64) {
    let longest_ns = UInt64(limits.lookCharge_ms) * 1_000_000
    accounts.charge(uid, min(Moment.monotonic_ns() - start_ns, longest_ns))
  }

  /// What reading a ring led to.
  enum Outcome: Sendable, Equatable {
    /// No thread has crashed, or none that the last reading did not know.
    case nothingNew
    case stored(id: String, seen: Seen)
    /// It waits in memory for a store that takes it.
    case held(id: String, seen: Seen)
    /// The store takes nothing now; the file that it came from is as safe a place as memory.
    case unanswered(StoreError)
    case failed
  }

  /// What reading a ring found, to tell whether the next one finds more.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// Threads that the sweep found: with it a report is whole.
    var threads: [Int32]
    var losses: [String: Int]
    /// Of a moment when the ring held just this; nil when it changed meanwhile.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
    }

    /// The stamp is no part of what was found.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
    }

    /// Whether a ring of that stamp has nothing else, nor anything that only its process's end shows.
    func isAll(of stamp: RingStamp) -> Bool { stamp.isSettled && losses.isEmpty && self.stamp == stamp }
  }

  /// Reads a ring, symbolicates what is new in it, and stores the report.
  /// - Parameters:
  ///   - source: The ring.
  ///   - permit: The caller's; it is given back while symbols are waited for.
  /// - Returns: What it led to, and whether something was seen while the process went on.
  func analyse(
    _ source: some CrashSource, _ permit: FairSemaphore.Permit
  ) async -> (outcome: Outcome, hasIncidents: Bool) {
    defer { preliminary.remove(RingKey(source.process.facts)) }
    return await source.process.ring.withPages {
      switch takeSnapshot(of: source) {
      case .nothingNew(let hasIncidents): return (.nothingNew, hasIncidents)
      case .news(var snapshot):
        let outcome: Outcome
        do throws(SystemError) {
          let symbols = try await symbolicate(&snapshot, of: source, permit)
          outcome = await commit(snapshot, symbols, of: source)
        } catch {
          outcome = notStored(source.process, error)
        }
        return (outcome, snapshot.hasIncidents)
      }
    }
  }

  /// The same of a spool file, when there is a permit.
  func analyse(_ file: SpooledFile) async -> Outcome {
    await permits.withPermit(for: file.process.facts.peer.uid) { await analyse(file, $0).outcome }
  }
}
