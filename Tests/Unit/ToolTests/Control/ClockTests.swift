import CrashReport
import Testing

@testable import CrashControl

@Suite("Clock")
struct ClockTests {
  private static let now = 1_795_248_611
  private static let stored = "2026-11-21T08:10:11.000123Z"

  @Test("a time in UTC is marked as UTC, and a local time has its zone's abbreviation")
  func zone() {
    #expect(Clock(now: Self.now, isUTC: true).text(Self.stored) == "2026-11-21 08:10:11 UTC")
    let local = Clock(now: Self.now).text(Self.stored)
    #expect(local.split(separator: " ").count == 3, "\(local)")
  }

  @Test(
    "an age is shown in the largest unit that it has at least twice; the age of a future time is 0s",
    arguments: [(0, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d"), (-5, "0s")])
  func age(seconds: Int, text: String) {
    #expect(Age.text(seconds) == text)
    #expect(Clock(now: Self.now + seconds).age(Self.stored) == text)
  }

  @Test("a report's times have microseconds and the zone, and no date on the day of the crash")
  func report() {
    let times = Clock(now: Self.now + 180, isUTC: true).times(withAge: true)
    #expect(times.moment(Self.stored) == "2026-11-21 08:10:11.000123 UTC, 3m ago")
    #expect(times.ofDay("2026-11-21T08:10:10.5Z", Self.stored) == "08:10:10.5")
    #expect(times.ofDay("2026-11-20T08:10:10.5Z", Self.stored) == "2026-11-20 08:10:10.5")
    #expect(Clock(isUTC: true).times(withAge: false).moment(Self.stored) == "2026-11-21 08:10:11.000123 UTC")
  }
}
