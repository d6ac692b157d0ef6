import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import LinuxSystem
import Logging
import Synchronization

/// The steps of the analysis of one crash: read the ring, symbolicate, diagnose, group, store.
struct CrashAnalysis: Sendable {
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  /// The permits that tasks need to read, symbolicate and store rings.
  var permits: FairSemaphore
  /// The CPU time spent on reading each user's rings.
  ///
  /// When a user exceeds the allowance, that user's rings are read at a lower priority.
  var lookTime: CPUAccounts
  /// The CPU time spent on reading each user's announced incidents.
  ///
  /// When a user exceeds the allowance, the reading of that user's incidents waits. The priority of the user's crashes
  /// does not change.
  var incidentTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var outage: StoreOutage
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// The settings, including the rules for processes whose memory is not stored.
  var settings = LiveSettings()
  /// Reports of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  /// Receives use-after-free crashes and the incidents of quarantined classes; nil in some tests.
  var policy: PolicyKeeper?

  /// Charges a user for the CPU time of one reading.
  ///
  /// Time spent waiting for symbols is not charged.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) { charge(lookTime, uid, since: start_ns) }

  /// Charges a user for one reading of announced incidents.
  func chargeIncidents(of uid: UInt32, since start_ns: UInt64) { charge(incidentTime, uid, since: start_ns) }

  private func charge(_ accounts: CPUAccounts, _ uid: UInt32, since start_ns: UInt64) {
    let longest_ns = UInt64(limits.lookCharge_ms) * 1_000_000
    accounts.charge(uid, min(Moment.monotonic_ns() - start_ns, longest_ns))
  }

  /// The outcome of reading a ring.
  enum Outcome: Sendable, Equatable {
    /// No thread has crashed since the last reading.
    case nothingNew
    case stored(id: String, seen: Seen)
    /// The report waits in memory until the store accepts it.
    case held(id: String, seen: Seen)
    /// The store is failing, and the ring is in a spool file.
    ///
    /// The report is not held in memory, because the spool file preserves the ring as safely.
    case unanswered(StoreError)
    case failed
  }

  /// The contents that one reading found.
  ///
  /// The next reading compares its contents with them.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// The threads of the thread sweep.
    ///
    /// If a later reading finds more threads, the report is completed.
    var threads: [Int32]
    var losses: [String: Int]
    /// The stamp of the ring when it had exactly these contents; nil if the ring changed during the reading.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
    }

    /// Does not compare the stamps, because two readings may find the same contents with different stamps.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
    }

    /// Whether a ring with this stamp contains nothing new, also after its process has ended.
    func isAll(of stamp: RingStamp) -> Bool { stamp.isSettled && losses.isEmpty && self.stamp == stamp }
  }

  /// Reads a ring, symbolicates the new records, and stores the report.
  /// - Parameters:
  ///   - source: The ring.
  ///   - permit: The caller's permit, which is released while symbol caches are built.
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

  /// Analyzes a spool file as soon as a permit is free.
  func analyse(_ file: SpooledFile) async -> Outcome {
    await permits.withPermit(for: file.process.facts.peer.uid) { await analyse(file, $0).outcome }
  }
}
