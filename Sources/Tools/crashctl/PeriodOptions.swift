import ArgumentParser
import CrashControl

/// The options that select a period.
struct PeriodOptions: ParsableArguments {
  // The parsing strategy `unconditional` allows values that begin with a minus, such as -2h.
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or after this time",
    transform: moment)
  var since: Int?

  @Option(
    name: [.customShort("U", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or before this time",
    transform: moment)
  var until: Int?

  var sinceText: String? { since.map(LocalTime.rfc3339) }
  var untilText: String? { until.map(LocalTime.rfc3339EndOfSecond) }
  var isRestricting: Bool { since != nil || until != nil }
}

/// The option `--since` for incidents.
///
/// It compares the time at which an incident was last seen, because incidents recur.
struct SeenOptions: ParsableArguments {
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only incidents last seen at or after this time, such as -2h", transform: moment)
  var since: Int?

  var sinceText: String? { since.map(LocalTime.rfc3339) }
}

/// The option that selects the hours whose counts are shown.
struct HealthPeriod: ParsableArguments {
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Count only from the hour of this time on, such as -7d", transform: moment)
  var since: Int?

  var sinceText: String? { since.map(LocalTime.rfc3339) }
}

/// Parses the value of `-S` or `-U`, and returns the time.
@Sendable private func moment(_ text: String) throws -> Int {
  guard let seconds = LocalTime.parse(text) else {
    throw ValidationError("invalid time '\(text)': examples are '2026-11-21 08:10', today and -2h")
  }
  return seconds
}
