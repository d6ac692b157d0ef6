import ArgumentParser
import CrashControl

/// From when to when.
struct PeriodOptions: ParsableArguments {
  // Unconditional: -2h is a time.
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or after this time.",
    transform: moment)
  var since: Int?

  @Option(
    name: [.customShort("U", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or before this time.",
    transform: moment)
  var until: Int?

  var sinceText: String? { since.map(LocalTime.rfc3339) }
  var untilText: String? { until.map(LocalTime.rfc3339EndOfSecond) }
  var isRestricting: Bool { since != nil || until != nil }
}

/// From when on, of what goes on happening.
struct SeenOptions: ParsableArguments {
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only those that were seen at or after this time, such as -2h.", transform: moment)
  var since: Int?

  var sinceText: String? { since.map(LocalTime.rfc3339) }
}

/// Reads what `-S` and `-U` take.
@Sendable private func moment(_ text: String) throws -> Int {
  guard let seconds = LocalTime.parse(text) else {
    throw ValidationError("'\(text)' is no time: write such as '2026-11-21 08:10', today, or -2h")
  }
  return seconds
}
