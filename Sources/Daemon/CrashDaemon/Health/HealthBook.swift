import CrashReport
import CrashRing
import CrashStore
import Glibc
import Logging
import Synchronization

/// Counts the running time, the requests and the crashes of each build, by hour (release health).
///
/// crashd reads the counters of a process from its ring, so the counters are complete even if the process crashes. With
/// the counts, the store saves a mark for each process (`HealthMark`): the part of the process's counters that the
/// counts already include. If crashd is restarted or killed, the next crashd counts only what follows the mark.
final class HealthBook: Sendable {
  /// The clocks, which tests replace.
  struct Clocks: Sendable {
    /// CLOCK_MONOTONIC, in nanoseconds.
    ///
    /// Steps of the wall clock do not change CLOCK_MONOTONIC, and it does not advance while the machine is suspended.
    var monotonic_ns: @Sendable () -> UInt64 = { Moment.monotonic_ns() }
    /// The wall clock, which selects the hour of a count.
    var wall_ns: @Sendable () -> UInt64 = { Moment.now().nanoseconds }
    /// The ID of this boot, because CLOCK_MONOTONIC begins at 0 at each boot.
    var boot = SmallFile.text(at: "/proc/sys/kernel/random/boot_id", limitBytes: 64)?.filter { !$0.isWhitespace } ?? ""
  }

  /// A process that is being counted.
  struct Life: Sendable {
    let key: HealthKey
    let ring: RingSource
    let first: Moment
    /// The numbers of the connections with this ring: more than one if the process attached again.
    var numbers: Set<UInt64>
    /// Whether the process had already ended when this crashd attached it; if so, crashd counts no more running time
    /// for it.
    let hadEnded: Bool
    var mark: HealthMark
    /// Whether `mark` was read from the store, and therefore includes what an earlier crashd counted.
    var isMarkRead = false
  }

  /// The end of a process, or of the use of its ring, that the store has not saved yet.
  struct End: Sendable {
    var life: Life
    var figures: RingContents.HealthFigures
    var time_ns: UInt64
    /// Whether a crash ended the process; nil if the process closed the connection but still runs, without this ring.
    var isCrash: Bool?
    /// The running time of a process that was never attached; otherwise nil.
    var unattended_ms: UInt64?
  }

  struct State: Sendable {
    var lives: [RingKey: Life] = [:]
    var ends: [End] = []
    var returns: [ReturnTimes.Return] = []
    var times = ReturnTimes()
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// Whether the next transaction must also count the running time of attached processes.
    var isDue = false
    var isWriting = false
    var nextForget_ns: UInt64 = 0
    /// The time of the last call of `tick`, or of `refresh` that counted, in CLOCK_MONOTONIC; nil before the first one.
    var tick_ns: UInt64?
    var hasFailed = false
  }

  /// The maximum number of ends that crashd holds in memory while the store fails.
  static let endLimit = 4_096

  let store: ReportStore
  let clocks: Clocks
  let logger: Logger
  let state = Mutex(State())

  init(store: ReportStore, clocks: Clocks = Clocks(), logger: Logger) {
    (self.store, self.clocks, self.logger) = (store, clocks, logger)
  }

  /// Begins to count the running time and the requests of a process.
  func attach(_ process: AttachedProcess) {
    let facts = process.facts
    let (now_ns, ring, key) = (clocks.monotonic_ns(), RingKey(facts), HealthKey(facts))
    state.withLock { state in
      if !process.hadEnded, let back = state.times.arrive(ReturnTimes.Service(facts), at: now_ns) {
        state.returns.append(back)
      }
      if state.lives[ring] != nil {
        state.lives[ring]?.numbers.insert(process.number)
      } else {
        state.lives[ring] = Life(
          key: key, ring: process.ring, first: Moment(nanoseconds: clocks.wall_ns()), numbers: [process.number],
          hadEnded: process.hadEnded, mark: HealthMark(key, ring: ring.id, boot: clocks.boot, counted_ns: now_ns))
      }
    }
  }

  /// Counts the end of a process, and returns after the store saved it or refused it; a refused end waits in memory.
  ///
  /// - Parameters:
  ///   - process: The process; its ring must not change any more.
  ///   - isCrash: Whether a crash ended the process; nil if the process still runs, without this ring.
  func end(_ process: AttachedProcess, isCrash: Bool?) async {
    let ring = RingKey(process.facts)
    let closed_ns = process.endTime_ns.load(ordering: .relaxed)
    let time_ns = closed_ns == 0 ? clocks.monotonic_ns() : closed_ns
    let figures = process.ring.healthFigures()
    let isOver = state.withLock { state in
      guard var life = state.lives[ring], life.numbers.remove(process.number) != nil else { return false }
      // The process has another connection with the same ring, so crashd goes on counting it.
      if isCrash == nil, !life.numbers.isEmpty {
        state.lives[ring] = life
        return false
      }
      state.lives[ring] = nil
      if isCrash == true, !life.hadEnded,
        let back = state.times.crash(ReturnTimes.Service(process.facts), life.key, at: time_ns)
      {
        state.returns.append(back)
      }
      state.ends.append(
        End(life: life, figures: figures, time_ns: life.hadEnded ? 0 : time_ns, isCrash: isCrash))
      return true
    }
    if isOver { await write() }
  }

  /// Counts the crash of a process that left its ring in the spool.
  ///
  /// - Parameters:
  ///   - process: The process of the spool file.
  ///   - crash_ns: The time of the crash, in nanoseconds since 1970.
  func spooled(_ process: AttachedProcess, crash_ns: UInt64) async {
    let (key, ring) = (HealthKey(process.facts), RingKey(process.facts))
    let start_ns = process.facts.identity.startTime_ns
    var life = Life(
      key: key, ring: process.ring, first: Moment(nanoseconds: min(crash_ns, clocks.wall_ns())), numbers: [],
      hadEnded: true, mark: HealthMark(key, ring: ring.id, boot: clocks.boot, counted_ns: 0))
    if let mark = storedMark(of: life) { life.mark = mark }
    // Count the running time since the start of the process; if a part is already counted, since the end of this part.
    let since_ns = max(start_ns, UInt64(clamping: life.mark.last_s) * 1_000_000_000)
    let ran_ns = min(crash_ns.subtractingOrZero(since_ns), Self.longestUnattended_ns)
    let end = End(
      life: life, figures: process.ring.healthFigures(), time_ns: 0, isCrash: true, unattended_ms: ran_ns / 1_000_000)
    state.withLock { $0.ends.append(end) }
    await write()
  }

  /// The maximum running time that is counted for a process that was never attached.
  ///
  /// There is a limit because the process itself reports its start time.
  private static let longestUnattended_ns: UInt64 = 30 * 86_400_000_000_000

  /// Counts the running time and the requests of all attached processes up to now.
  func tick() async {
    let now_ns = clocks.monotonic_ns()
    state.withLock { ($0.isDue, $0.tick_ns) = (true, now_ns) }
    await write()
  }

  /// Does the same as `tick`, unless the last count was less than a second ago.
  ///
  /// The interval limits the load: clients cause calls of this method as often as they like, and each count reads the
  /// rings of all processes. If a count is running, the method waits for its end.
  func refresh() async {
    let now_ns = clocks.monotonic_ns()
    let waits = state.withLock { state in
      if state.tick_ns.map({ now_ns.subtractingOrZero($0) >= Self.shortestInterval_ns }) ?? true {
        (state.isDue, state.tick_ns) = (true, now_ns)
      }
      return state.isDue || state.isWriting
    }
    if waits { await write() }
  }

  private static let shortestInterval_ns: UInt64 = 1_000_000_000

  /// Returns the numbers of attached processes by build.
  func running() -> [HealthKey: Int] {
    state.withLock { state in
      state.lives.values.reduce(into: [:]) { counts, life in if !life.hadEnded { counts[life.key, default: 0] += 1 } }
    }
  }

  /// Returns the stored mark of a process.
  ///
  /// If the store has no mark, the result is the mark in `life`. The result is nil if the store cannot be read.
  func storedMark(of life: Life) -> HealthMark? {
    do throws(StoreError) {
      guard var mark = try store.healthMark(life.key, ring: life.mark.ring) else { return life.mark }
      // A reading of CLOCK_MONOTONIC from another boot cannot be compared with readings of this boot.
      if mark.boot != clocks.boot { (mark.boot, mark.counted_ns) = (clocks.boot, life.mark.counted_ns) }
      return mark
    } catch {
      return nil
    }
  }
}

extension HealthKey {
  init(_ facts: ProcessFacts) {
    self.init(
      uid: facts.peer.uid, isRestricted: facts.isRestricted, program: facts.identity.name, build: facts.buildID)
  }
}
