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
  /// The time spent on reading each user's rings.
  ///
  /// When a user exceeds the allowance, that user's rings are read at a lower priority.
  var lookTime: CPUAccounts
  /// The time spent on reading each user's announced incidents.
  ///
  /// When a user exceeds the allowance, that user's incidents wait. Crashes keep their priority.
  var incidentTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var outage: StoreOutage
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// Selects the processes whose memory is not stored.
  var settings = LiveSettings()
  /// Reports of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  /// Receives use-after-free crashes and the quarantine's incidents; nil in some tests.
  var policy: PolicyKeeper?

  /// Charges the time of one reading, excluding the time spent waiting for symbols.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) { charge(lookTime, uid, since: start_ns) }

  /// Charges the time of one reading of announced incidents.
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
    /// The report is held in memory until the store accepts it.
    case held(id: String, seen: Seen)
    /// The store is failing.
    ///
    /// The report remains in its spool file, which is as safe as memory.
    case unanswered(StoreError)
    case failed
  }

  /// What one reading found, to decide whether the next reading finds more.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// Threads of the thread sweep; if a later reading finds more threads, the report is completed.
    var threads: [Int32]
    var losses: [String: Int]
    /// The stamp of the ring with exactly these contents; nil if the ring changed during the reading.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
    }

    /// Ignores the stamps: two readings may find the same contents with different stamps.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
    }

    /// Whether a ring with this stamp contains nothing new, even after its process ends.
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

  /// Analyzes a spool file as soon as a permit is free.
  func analyse(_ file: SpooledFile) async -> Outcome {
    await permits.withPermit(for: file.process.facts.peer.uid) { await analyse(file, $0).outcome }
  }
}
