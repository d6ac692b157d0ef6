import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import LinuxSystem
import Logging
import Synchronization

/// The steps of one crash from the ring to the store: read, symbolicate, diagnose, group, store.
struct CrashAnalysis: Sendable {
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  /// Permits for reading, symbolicating and storing rings.
  var permits: FairSemaphore
  /// The time spent on reading the rings of each user.
  ///
  /// Beyond its allowance, a user's rings are read with a lower priority.
  var lookTime: CPUAccounts
  /// The same for announced incidents, which wait instead: they lower no crash's priority.
  var incidentTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var outage: StoreOutage
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// Which processes' memory is not stored.
  var settings = LiveSettings()
  /// The reports of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  /// Gets use-after-free crashes and the quarantine's incidents; nil in some tests.
  var policy: PolicyKeeper?

  /// Charges the time of one reading, without the time that it waits for symbols.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) { charge(lookTime, uid, since: start_ns) }

  /// Charges the time of one reading of announced incidents.
  func chargeIncidents(of uid: UInt32, since start_ns: UInt64) { charge(incidentTime, uid, since: start_ns) }

  private func charge(_ accounts: CPUAccounts, _ uid: UInt32, since start_ns: UInt64) {
    let longest_ns = UInt64(limits.lookCharge_ms) * 1_000_000
    accounts.charge(uid, min(Moment.monotonic_ns() - start_ns, longest_ns))
  }

  /// The outcome of reading a ring.
  enum Outcome: Sendable, Equatable {
    /// No thread has crashed, or none since the last reading.
    case nothingNew
    case stored(id: String, seen: Seen)
    /// The report is held in memory until the store accepts it.
    case held(id: String, seen: Seen)
    /// The store fails now; the report stays in its file, which is as safe as memory.
    case unanswered(StoreError)
    case failed
  }

  /// The result of a reading, to decide whether the next one finds more.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// Threads of the sweep: they complete a report.
    var threads: [Int32]
    var losses: [String: Int]
    /// The stamp of the ring with exactly these contents; nil when it changed meanwhile.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
    }

    /// Two readings may be equal although their stamps differ.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
    }

    /// Whether a ring with that stamp has no more to read, even after its process ends.
    func isAll(of stamp: RingStamp) -> Bool { stamp.isSettled && losses.isEmpty && self.stamp == stamp }
  }

  /// Reads a ring, symbolicates what is new in it, and stores the report.
  /// - Parameters:
  ///   - source: The ring.
  ///   - permit: The caller's permit; it is released while symbols are built.
  /// - Returns: The outcome, and whether the process recorded non-fatal incidents.
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

  /// The same for a spool file, when a permit is free.
  func analyse(_ file: SpooledFile) async -> Outcome {
    await permits.withPermit(for: file.process.facts.peer.uid) { await analyse(file, $0).outcome }
  }
}
