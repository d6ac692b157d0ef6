import CLinux
import CrashReport
import CrashRing
import Glibc
import LinuxSystem
import Synchronization

/// The bounds of a time that a process reported.
///
/// The bounds come from the kernel and from crashd's own clock.
///
/// The process writes the times into its crash records, and its clock could have been wrong. crashd replaces an
/// impossible time with the time of the spool file's last change, or with the time at which it first read the record.
/// Without this replacement, a report with a future time would always be the newest report. A report with a time far in
/// the past would be pruned immediately.
struct TimeBounds: Sendable, Equatable {
  /// The earliest possible time in CLOCK_BOOTTIME; nil if the time could be before the last boot.
  ///
  /// The value is the start of the process, or 0 if the start is unknown.
  var earliestBoot_ns: UInt64?
  /// The time of the last change of the spool file, in which a process left its crash records; nil for records that do
  /// not come from a spool file.
  var changed_ns: UInt64?

  /// The earliest accepted time is 2023-01-01, because no program used this shield earlier.
  static let floor_ns: UInt64 = 1_672_531_200_000_000_000
  /// The tolerance of the earliest time, because the kernel counts the start of a process in ticks, and because the
  /// clock can be corrected slightly.
  private static let slack_ns: UInt64 = 1_000_000_000

  /// The values of CLOCK_REALTIME and CLOCK_BOOTTIME, read at the same time.
  struct Clocks: Sendable {
    var real_ns: UInt64
    var boot_ns: UInt64

    static func now() -> Clocks { Clocks(real_ns: Moment.now().nanoseconds, boot_ns: ClockWatch.boot_ns()) }
  }

  /// Returns the bounds for an attached process.
  ///
  /// `startTime` is the start of the process in kernel ticks since boot; nil if it is unknown.
  static func attached(startTime: UInt64?) -> TimeBounds {
    let ticks = UInt64(clamping: max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (product, isTooLarge) = (startTime ?? 0).multipliedReportingOverflow(by: 1_000_000_000 / ticks)
    return TimeBounds(earliestBoot_ns: isTooLarge ? 0 : product)
  }

  /// Returns the bounds for the times in a spool file.
  ///
  /// A file system in memory is empty after a boot, so its files were written after the last boot.
  static func file(_ descriptor: Descriptor) -> TimeBounds {
    guard let status = try? descriptor.status() else { return TimeBounds() }
    let seconds = UInt64(clamping: status.st_ctim.tv_sec)
    let (changed, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return TimeBounds(
      earliestBoot_ns: cd_file_is_of_this_boot(descriptor.number) ? 0 : nil,
      changed_ns: isTooLarge ? nil : changed &+ UInt64(clamping: status.st_ctim.tv_nsec))
  }

  /// Returns the range of possible wall-clock times, computed with the current clocks.
  func range(at now: Clocks) -> ClosedRange<UInt64> {
    var earliest = Self.floor_ns
    if let earliestBoot_ns {
      let age = now.boot_ns > earliestBoot_ns ? now.boot_ns - earliestBoot_ns : 0
      let (begin, isBefore1970) = now.real_ns.subtractingReportingOverflow(age &+ Self.slack_ns)
      earliest = isBefore1970 ? 0 : begin
    }
    return min(earliest, now.real_ns)...now.real_ns
  }

  /// Returns the time that the process reported if this time is possible.
  ///
  /// If the reported time is impossible, the method returns the time of the file's last change. If that time is also
  /// impossible, the method returns the current time.
  func possible(_ claimed_ns: UInt64, at now: Clocks) -> UInt64 {
    let range = range(at: now)
    if range.contains(claimed_ns) { return claimed_ns }
    if let changed_ns, range.contains(changed_ns) { return changed_ns }
    return now.real_ns
  }
}

/// Remembers the corrected times of the crashes and incidents that one process reported.
///
/// With these times, a later reading of the ring uses the same corrected times as the first reading.
final class CrashTimes: Sendable {
  private struct Known {
    var records: [Int: (generation: UInt64, claimed_ns: UInt64, time_ns: UInt64)] = [:]
    var incidents: [UInt64: (claimed_ns: [UInt64], times_ns: [UInt64])] = [:]
  }

  private let known = Mutex(Known())
  /// The maximum number of incidents whose times are remembered.
  ///
  /// The limit is high enough for all incidents of a ring, and for incidents whose entries in the ring were reused.
  private static let incidentLimit = 1_024

  /// Replaces impossible times in the contents of a ring.
  func correct(_ contents: inout RingContents, _ bounds: TimeBounds, at now: TimeBounds.Clocks = .now()) {
    for index in contents.records.indices {
      let record = contents.records[index]
      contents.records[index].time_ns = known.withLock { known in
        if let known = known.records[record.slot], known.generation == record.generation,
          known.claimed_ns == record.time_ns
        {
          return known.time_ns
        }
        let time = bounds.possible(record.time_ns, at: now)
        known.records[record.slot] = (record.generation, record.time_ns, time)
        return time
      }
    }
    correct(&contents.incidents, bounds, at: now)
  }

  /// Replaces impossible times in non-fatal incidents.
  func correct(_ incidents: inout [Incident], _ bounds: TimeBounds, at now: TimeBounds.Clocks = .now()) {
    for index in incidents.indices {
      let incident = incidents[index]
      let claimed = [incident.first_ns, incident.last_ns]
      let times = known.withLock { known in
        if let known = known.incidents[incident.key], known.claimed_ns == claimed { return known.times_ns }
        let last = bounds.possible(incident.last_ns, at: now)
        let times = [min(bounds.possible(incident.first_ns, at: now), last), last]
        if known.incidents.count >= Self.incidentLimit { known.incidents = [:] }
        known.incidents[incident.key] = (claimed, times)
        return times
      }
      (incidents[index].first_ns, incidents[index].last_ns) = (times[0], times[1])
    }
  }
}

extension CrashReport {
  /// Copies the times of the stored report that this report replaces.
  ///
  /// The times in the former report were checked when crashd stored it.
  mutating func keepTimes(of old: CrashReport) {
    time = old.time
    noteUptime()
    let known = Dictionary((old.incidents ?? []).map { ($0.id, $0) }) { $1 }
    incidents = incidents?.map { incident in
      guard let before = known[incident.id], before.count == incident.count else { return incident }
      var kept = incident
      (kept.first, kept.last) = (before.first, before.last)
      return kept
    }
  }
}
