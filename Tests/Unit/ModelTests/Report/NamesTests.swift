import CrashReport
import Testing

@Suite("SignalNames")
struct SignalNamesTests {
  @Test(
    "each signal number has its name",
    arguments: [(4, "SIGILL"), (31, "SIGSYS"), (34, "SIGRTMIN"), (36, "SIGRTMIN+2")])
  func names(number: Int, name: String) { #expect(SignalNames.name(of: number) == name) }

  @Test("an unknown signal is shown by its number", arguments: [Int.min, -1, 0, 32, 65, Int.max])
  func noSignal(number: Int) { #expect(SignalNames.name(of: number) == "signal \(number)") }

  @Test(
    "the name of a signal code depends on its signal, or on how the signal was sent",
    arguments: [
      (2, 4, "ILL_ILLOPN"), (1, 11, "SEGV_MAPERR"), (2, 11, "SEGV_ACCERR"), (1, 8, "FPE_INTDIV"),
      (1, 31, "SYS_SECCOMP"), (0, 11, "SI_USER"), (-6, 6, "SI_TKILL"), (128, 11, "SI_KERNEL"), (-1, 4, "SI_QUEUE"),
      (99, 11, "99"), (1, 6, "1"),
    ])
  func codes(code: Int, signal: Int, name: String) {
    #expect(SignalNames.codeName(of: code, signal: signal) == name)
  }
}

@Suite("Timestamp")
struct TimestampTests {
  @Test(
    "times are formatted as RFC 3339 with microseconds",
    arguments: [
      (UInt64(0), "1970-01-01T00:00:00.000000Z"),
      (951_782_399_999_999_999, "2000-02-28T23:59:59.999999Z"),
      (951_782_400_000_001_999, "2000-02-29T00:00:00.000001Z"),
      (1_709_251_199_000_000_000, "2024-02-29T23:59:59.000000Z"),
      (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000Z"),
      (UInt64.max, "2554-07-21T23:34:33.709551Z"),
    ])
  func string(nanoseconds: UInt64, text: String) {
    #expect(Timestamp.string(since1970_ns: nanoseconds) == text)
  }

  @Test(
    "an RFC 3339 time is converted to nanoseconds since 1970",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-21T08:10:11.000123Z", 1_795_248_611_000_123_000),
      ("2000-02-29T23:59:59.5Z", 951_868_799_500_000_000),
      ("2024-03-01T00:00:00.123456789Z", 1_709_251_200_123_456_789),
      ("2024-03-01t00:00:00.1234567891z", 1_709_251_200_123_456_789),
      ("2024-03-01T01:30:00+01:30", 1_709_251_200_000_000_000),
      ("2024-02-29T18:00:00.5-06:00", 1_709_251_200_500_000_000), ("9999-12-31T23:59:59Z", UInt64.max),
    ] as [(String, UInt64)])
  func nanoseconds(text: String, expected: UInt64) { #expect(Timestamp.nanoseconds(rfc3339: text) == expected) }

  @Test(
    "a malformed time is converted to nil",
    arguments: [
      "", "Z", "2026-11-21", "2026-11-21T08:10:11", "2026-13-21T08:10:11Z", "2026-11-21T24:10:11Z",
      "2026-11-21T08:10:11.Z", "2026-11-21T08:10:11,5Z", "2026-11-21T08:10:1äZ",
      "1969-12-31T23:59:59Z", "1970-01-01T00:59:00+01:00", "2026-11-21T08:10:11+0100", "2026-11-21T08:10:11Z ",
      "2026-11-21T08:10:+1Z", "2026-00-21T08:10:11Z", "٢٠٢٦-11-21T08:10:11Z",
    ])
  func noTime(text: String) { #expect(Timestamp.nanoseconds(rfc3339: text) == nil) }
}

@Suite("CleanText")
struct CleanTextTests {
  @Test("cleaning a string keeps printable characters, line feeds and tabs")
  func unchanged() { #expect(CleanText.clean("Käse 👩‍👩‍👧\n\t漢字") == "Käse 👩‍👩‍👧\n\t漢字") }

  @Test("cleaning a string makes a carriage return visible, even before a line feed")
  func carriageReturn() { #expect(CleanText.clean("a\r\nb") == "a␍\nb") }

  @Test("a string that is cleaned for one line contains no line breaks")
  func line() { #expect(CleanText.line("a\nb\tc\u{2028}d") == "a␊b c\u{fffd}d") }

  @Test("cleaning replaces bytes that are not valid UTF-8")
  func repair() { #expect(CleanText.decode([0xc0, 0x80, 0x61]) == "\u{fffd}\u{fffd}a") }
}
