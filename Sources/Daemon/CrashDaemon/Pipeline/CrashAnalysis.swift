import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import LinuxSystem
import Logging
import Synchronization

/// Implements the steps of the analysis of one crash: read the ring, symbolicate, diagnose, group, store.
///
/// The ring is the memory into which a process writes its crash records.
struct CrashAnalysis: Sendable {
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  /// The permits that tasks need in order to read, symbolicate and store rings; their number limits concurrent
  /// readings.
  var permits: FairSemaphore
  /// The time spent on reading each user's rings.
  ///
  /// If a user exceeds the limits `lookBurst_ms` and `lookShare_percent`, crashd reads the rings of this user at a
  /// lower priority than the rings of other users.
  var lookTime: CPUAccounts
  /// The time spent on reading each user's announced incidents.
  ///
  /// If a user exceeds the limits, announced incidents of this user wait. The priority of the user's crashes does not
  /// change in this case.
  var incidentTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var outage: StoreOutage
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// The settings, which contain the rules about processes whose memory must not be stored.
  var settings = LiveSettings()
  /// The preliminary reports of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  let waitingRequests = WaitingRequests()
  /// Receives use-after-free crashes and the incidents of quarantined classes; nil in some tests.
  var policy: PolicyKeeper?
  /// Counts the health of each build; nil in some tests.
  var health: HealthBook?

  /// Charges a user for the time of one reading, which is limited to `lookCharge_ms`.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) { charge(lookTime, uid, since: start_ns) }

  /// Charges a user for one reading of announced incidents.
  func chargeIncidents(of uid: UInt32, since start_ns: UInt64) { charge(incidentTime, uid, since: start_ns) }

  private func charge(_ accounts: CPUAccounts, _ uid: UInt32, since start_ns: UInt64) {
    let longest_ns = UInt64(limits.lookCharge_ms) * 1_000_000
    accounts.charge(uid, min(Moment.monotonic_ns() - start_ns, longest_ns))
  }

  /// The outcome of reading a ring.
  enum Outcome: Sendable, Equatable {
    /// The ring contains no new crash since the last reading.
    case nothingNew
    case stored(id: String, seen: Seen)
    /// The report is complete, and waits in memory until the store accepts it.
    case held(id: String, seen: Seen)
    /// The store fails, and crashd does not hold the report in memory.
    ///
    /// The spool file still contains the ring, or the client can repeat the import of the record line.
    case unanswered(StoreError)
    case failed
  }

  /// A summary of the contents that one reading of a ring found.
  ///
  /// The next reading compares its own contents with this summary.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// The IDs of the threads whose stacks the handler had collected.
    ///
    /// If a later reading finds more threads, crashd adds them to the report.
    var threads: [Int32]
    var losses: [String: Int]
    /// The drain, in which the process finishes its other requests after a trap; nil if there is none.
    ///
    /// A drain ends only after the crash was recorded.
    var drain: RingContents.Drain?
    /// The stamp of the ring when it had exactly these contents; nil if the ring changed during the reading.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
      drain = contents.containment?.drain
    }

    /// Compares two values without their stamps, because two readings can find the same contents with different stamps.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
        && left.drain == right.drain
    }

    /// Whether a drain was under way.
    var drains: Bool { drain.map { $0.end == nil } ?? false }

    /// Whether a ring with the given stamp contains exactly these contents.
    ///
    /// The result is also valid after the process has ended, because no record was incomplete and no loss was counted.
    func isAll(of stamp: RingStamp) -> Bool { stamp.isSettled && losses.isEmpty && self.stamp == stamp }
  }

  /// Reads a ring, symbolicates the new records, and stores the report.
  /// - Parameters:
  ///   - source: The ring.
  ///   - permit: The caller's permit, which this function releases while symbol caches are built.
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

  /// Analyzes a spool file, or the crash of an imported record line (a crash record as text), as soon as crashd has a
  /// free permit.
  func analyse(_ source: some CrashSource) async -> Outcome {
    await permits.withPermit(for: source.process.facts.peer.uid) { await analyse(source, $0).outcome }
  }
}
