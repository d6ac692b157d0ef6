import CrashReport

/// One key: its name, what it takes, and where it goes.
struct ForwardKey: Sendable {
  /// Such as `sentry.rate`.
  var name: String
  /// For an error: `true or false`.
  var takes: String
  /// Whether it may not stand in the settings, which more than one may read: there a file of its own is named.
  var isSecret = false
  /// Puts a value, the parts of a list or one, where it belongs; false: it is not what the key takes.
  var apply: @Sendable (inout ForwardSettings, [String]) -> Bool
  /// For people; empty: none.
  var show: @Sendable (ForwardSettings) -> String

  /// The name in the environment.
  var variable: String {
    "CRASH_FORWARD_" + String(name.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
  }

  typealias Path<Value> = any WritableKeyPath<ForwardSettings, Value> & Sendable

  /// A key that takes one value.
  private static func value<Value>(
    _ name: String, _ path: Path<Value>, _ takes: String, isSecret: Bool = false,
    _ read: @escaping @Sendable (String) -> Value?, _ write: @escaping @Sendable (Value) -> String
  ) -> ForwardKey {
    ForwardKey(
      name: name, takes: takes, isSecret: isSecret,
      apply: { settings, parts in
        guard parts.count == 1, let value = read(parts[0]) else { return false }
        settings[keyPath: path] = value
        return true
      }, show: { write($0[keyPath: path]) })
  }

  private static func text(
    _ name: String, _ path: Path<String?>, _ takes: String, where isGood: @escaping @Sendable (String) -> Bool
  ) -> ForwardKey {
    value(name, path, takes, { isGood($0) ? .some(.some($0)) : .none }, { $0 ?? "" })
  }

  private static func known(
    _ name: String, _ path: Path<String>, _ takes: String, where isGood: @escaping @Sendable (String) -> Bool
  ) -> ForwardKey {
    value(name, path, takes, { isGood($0) ? $0 : nil }, { $0 })
  }

  private static func flag(_ name: String, _ path: Path<Bool>) -> ForwardKey {
    value(name, path, "true or false", { ["true": true, "false": false][$0] }, { "\($0)" })
  }

  private static func number(
    _ name: String, _ path: Path<Int>, _ unit: String, _ range: ClosedRange<Int>
  ) -> ForwardKey {
    value(
      name, path, "\(unit), from \(range.lowerBound) to \(range.upperBound)",
      { Int($0).flatMap { range.contains($0) ? $0 : nil } }, { "\($0)" })
  }

  private static func secret(_ name: String, _ path: Path<Secret?>, _ takes: String) -> ForwardKey {
    value(
      name, path, takes, isSecret: true, { $0.isEmpty ? .none : .some(.some(Secret($0))) }, { $0.map { "\($0)" } ?? "" }
    )
  }

  private static func list(
    _ name: String, _ path: Path<[String]>, _ takes: String, where isGood: @escaping @Sendable (String) -> Bool
  ) -> ForwardKey {
    ForwardKey(
      name: name, takes: takes,
      apply: { settings, parts in
        guard parts.allSatisfy(isGood) else { return false }
        settings[keyPath: path] = parts
        return true
      }, show: { "[\($0[keyPath: path].map { "'\($0)'" }.joined(separator: ", "))]" })
  }

  private static func common(
    _ sink: String, _ perMinute: Path<Int>, _ program: Path<String?>, _ scrubs: Path<Bool>
  ) -> [ForwardKey] {
    [
      number("\(sink).rate", perMinute, "events a minute", 1...60_000),
      text("\(sink).program", program, "a part of a program's name") { !$0.isEmpty },
      flag("\(sink).scrub", scrubs),
    ]
  }

  /// Every key there is; `systemd/crash-forward.yaml` explains each.
  static let all: [ForwardKey] =
    [
      text("log-level", \.logLevel, "error, warning, notice or debug") {
        ["error", "warning", "notice", "debug"].contains($0)
      },
      text("crashd-socket", \.crashdSocket, "a path", where: isPath),
      known("subscriber", \.subscriber, "a name of at most 48 letters, digits, - and _", where: isName),
      text("ca-file", \.caFile, "a path", where: isPath),
      number("give-up-after", \.giveUpMinutes, "minutes", 1...100_000),
      flag("journal.enabled", \.isJournalOn),
      known("journal.socket", \.journalSocket, "a path", where: isPath),
      flag("journal.report", \.journalReport),
      flag("journal.coredump-entries", \.journalCoredump),
    ] + common("journal", \.journal.perMinute, \.journal.program, \.journal.scrubs) + [
      secret("sentry.dsn", \.sentryDSN, "a DSN such as https://KEY@HOST/PROJECT"),
      text("sentry.environment", \.sentryEnvironment, "a name") { !$0.isEmpty },
      text("sentry.release", \.sentryRelease, "a name") { !$0.isEmpty && !$0.contains("/") },
    ] + common("sentry", \.sentry.perMinute, \.sentry.program, \.sentry.scrubs) + [
      text(
        "otlp.endpoint", \.otlpEndpoint, "a URL such as http://127.0.0.1:4318/v1/logs, without a password",
        where: OTLPSink.takes(url:)),
      secret("otlp.headers", \.otlpHeaders, "lines such as Authorization: Bearer TOKEN"),
      text("otlp.environment", \.otlpEnvironment, "a name") { !$0.isEmpty },
    ] + common("otlp", \.otlp.perMinute, \.otlp.program, \.otlp.scrubs) + [
      list("privacy.annotations", \.privacy.annotations, "parts of keys of annotations") { !$0.isEmpty },
      list("privacy.patterns", \.privacy.patterns, "regular expressions", where: TextScrubber.understands),
      flag("privacy.home-directories", \.privacy.homeDirectories),
    ]

  @Sendable private static func isPath(_ text: String) -> Bool { text.hasPrefix("/") && !text.contains("\0") }

  @Sendable private static func isName(_ text: String) -> Bool {
    (1...48).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
