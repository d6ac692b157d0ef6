import CrashReport
import CrashRing
import Testing

@testable import CrashDaemon

@Suite("Plausible times of a crash")
struct TimeBoundsTests {
  private static let second: UInt64 = 1_000_000_000
  private static let hour = 3_600 * second
  /// A time in 2027, ten hours after the boot.
  private static let now = TimeBounds.Clocks(real_ns: 1_800_000_000 * second, boot_ns: 10 * hour)

  @Test("F10: an attached process's crash time is between its start and now; otherwise the time of reading is used")
  func attached() {
    let bounds = TimeBounds(earliestBoot_ns: 4 * Self.hour)
    let (now, start) = (Self.now.real_ns, Self.now.real_ns - 6 * Self.hour)
    for claimed in [start, start + Self.hour, now] { #expect(bounds.possible(claimed, at: Self.now) == claimed) }
    for claimed in [0, 1, start - 2 * Self.second, now + 1, UInt64.max] {
      #expect(bounds.possible(claimed, at: Self.now) == now)
    }
  }

  @Test("F10: a spooled crash's time is after the boot if the file is in memory, otherwise after 2022")
  func file() {
    let now = Self.now.real_ns
    let inMemory = TimeBounds(earliestBoot_ns: 0, changed_ns: now - Self.hour)
    #expect(inMemory.possible(now - 2 * Self.hour, at: Self.now) == now - 2 * Self.hour)
    // A time before the boot is impossible (the clock was wrong). The file's change time, which the kernel sets,
    // replaces it.
    #expect(inMemory.possible(now - 72 * Self.hour, at: Self.now) == now - Self.hour)
    let unset = TimeBounds(earliestBoot_ns: 0, changed_ns: 100 * Self.second)
    #expect(unset.possible(99 * Self.second, at: Self.now) == now)
    let onDisk = TimeBounds(changed_ns: 100 * Self.second)
    #expect(onDisk.possible(now - 720 * Self.hour, at: Self.now) == now - 720 * Self.hour)
    for claimed in [0, TimeBounds.floor_ns - 1, UInt64.max] { #expect(onDisk.possible(claimed, at: Self.now) == now) }
  }

  @Test("crash times stay unchanged on a machine whose clock was never set")
  func unset() {
    let clocks = TimeBounds.Clocks(real_ns: 20 * Self.second, boot_ns: 30 * Self.second)
    #expect(TimeBounds(earliestBoot_ns: 0).possible(15 * Self.second, at: clocks) == 15 * Self.second)
    #expect(TimeBounds().possible(15 * Self.second, at: clocks) == 20 * Self.second)
  }

  private static func contents(time_ns: UInt64) -> RingContents {
    var record = CrashRecord.sample()
    record.time_ns = time_ns
    return .sample([record])
  }

  @Test("a later reading of a record keeps the time of the first reading")
  func stable() throws {
    let times = CrashTimes()
    var first = Self.contents(time_ns: .max)
    times.correct(&first, TimeBounds(earliestBoot_ns: 0), at: Self.now)
    var later = Self.now
    later.real_ns += Self.hour
    later.boot_ns += Self.hour
    var second = Self.contents(time_ns: .max)
    times.correct(&second, TimeBounds(earliestBoot_ns: 0), at: later)
    #expect(first.records.map(\.time_ns) == [Self.now.real_ns] && second.records == first.records)
    var report = try #require(first.report())
    let old = report
    report.time = "2554-07-21T00:00:00.000000Z"
    report.keepTimes(of: old)
    #expect(report == old)
  }
}
