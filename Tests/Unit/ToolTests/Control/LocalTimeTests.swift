import CrashControl
import Testing

@Suite("LocalTime")
struct LocalTimeTests {
  private let now = 1_795_248_611

  @Test("a stored time is converted to the local time of the same instant")
  func roundTrip() throws {
    let stored = LocalTime.rfc3339(now)
    #expect(stored == "2026-11-21T08:10:11Z")
    #expect(LocalTime.parse(stored) == now)
    #expect(LocalTime.parse("2026-11-21T08:10:11.123456Z") == now)
    #expect(LocalTime.parse(Clock().text(stored)) == now)
    #expect(LocalTime.parse(Clock(isUTC: true).text(stored)) == now)
    #expect(LocalTime.parse("@\(now)") == now)
  }

  @Test("a time option such as -2h is subtracted from the current time")
  func spans() {
    for (text, seconds) in [("-90", 90), ("-5min", 300), ("2h ago", 7200), ("-3d", 259_200), ("1 week ago", 604_800)] {
      #expect(LocalTime.parse(text, now: now) == now - seconds, "\(text)")
    }
  }

  @Test("a date without a time means midnight, and a time without a date means today")
  func parts() throws {
    let today = try #require(LocalTime.parse("today", now: now))
    #expect((0..<90_000).contains(now - today))
    #expect(LocalTime.parse("now", now: now) == now)
    #expect(LocalTime.parse(String(Clock().text(LocalTime.rfc3339(today)).prefix(10))) == today)
    let yesterday = try #require(LocalTime.parse("yesterday", now: now))
    #expect((80_000...100_000).contains(today - yesterday))
    #expect(Clock().text(LocalTime.rfc3339(try #require(LocalTime.parse("07:08", now: now)))).contains(" 07:08:00 "))
  }

  @Test(
    "a malformed local time in an option is refused",
    arguments: [
      "", " ", "-", "2026-13-01", "2026-11", "25:00", "08", "2026-11-21 08", "08:10 2026-11-21", "2026-11-21  08:10",
      "-5parsecs", "-99999999999999999999", "@", "@-1", "2026-11-21 08:10 Nowhere", "@99999999999999999999",
      "2026-11-21T08:10Z", "+1h", "1:2:3:4",
    ])
  func refused(text: String) { #expect(LocalTime.parse(text) == nil) }

  @Test("an --until with a second includes the last microsecond of that second")
  func endOfSecond() { #expect(LocalTime.rfc3339EndOfSecond(1_795_248_611) == "2026-11-21T08:10:11.999999Z") }

  @Test("a malformed stored time is shown unchanged")
  func unreadable() { #expect(Clock().text("soon") == "soon" && Clock().age("soon") == "soon") }
}
