public import CrashProtocol
internal import CrashReport
import Glibc

/// Formats the health of builds.
public enum HealthText: Sendable {
  /// Formats builds, one line per build, and a sentence for each build that is worse than the one before it.
  public static func list(_ report: HealthReport, terminal: Terminal, legend: Bool) -> String {
    let names = Set(report.builds.map(\.program))
    let columns: [Table.Column] = [
      .init(title: "PROGRAM", minimum: 8, common: "program"),
      .init(title: "UID", alignsRight: true, common: "uid", isDetail: true),
      .init(title: "BUILD", minimum: 10, style: .bold),
      .init(title: "FIRST"),
      .init(title: "LAST", dropOrder: 2, isDetail: true),
      .init(title: "RUN", alignsRight: true, dropOrder: 4),
      .init(title: "HOURS", alignsRight: true),
      .init(title: "REQUESTS", alignsRight: true, dropOrder: 1),
      .init(title: "CRASH-FREE", alignsRight: true),
      .init(title: "CRASHES", alignsRight: true),
      .init(title: "PER 1000 H", alignsRight: true, dropOrder: 3),
      .init(title: "BACK IN", alignsRight: true, dropOrder: 5),
      .init(title: "WORSE"),
    ]
    // The builds of a program stay together, and the build that was first seen earlier comes first.
    let builds = report.builds.enumerated().sorted { ($0.element.program, $0.offset) < ($1.element.program, $1.offset) }
    let rows = builds.map(\.element).map { build in
      [
        build.program, "\(build.uid)", name(of: build), terminal.moment(build.firstSeen),
        terminal.moment(build.lastSeen), "\(build.running)", hours(build.processSeconds),
        build.requests.map { Listings.grouped($0.begun) } ?? "",
        build.requests.map { crashFree($0) } ?? "", Listings.grouped(build.crashes), rate(build),
        build.timeToBack_ms.map(time) ?? "", build.comparison.map { $0.isWorse ? "yes" : "no" } ?? "",
      ].map(CleanText.line)
    }
    let table = Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
    let worse = report.builds.compactMap { build in
      build.comparison.flatMap { $0.isWorse ? sentence($0, report, namesProgram: names.count > 1) : nil }
    }
    let sentences = report.comparison.map { [sentence($0, report)] } ?? worse
    guard legend, !sentences.isEmpty else { return table }
    return table + "\n"
      + sentences.map { $0.wrapped(to: terminal.width ?? .max).map { $0 + "\n" }.joined() }.joined()
  }

  /// Returns a sentence such as `1.4.2 is worse than 1.4.1: …`.
  public static func sentence(
    _ verdict: BuildVerdict, _ report: HealthReport, namesProgram: Bool = false
  ) -> String {
    let find = { (build: String) in report.builds.first { $0.build == build } }
    let new = find(verdict.build)
    let program = namesProgram ? new.map { $0.program + " " } ?? "" : ""
    let (newName, oldName) = names(verdict, new, find(verdict.against))
    guard let expected = verdict.expectedCrashes else {
      return CleanText.line(
        "\(program)\(newName) cannot be compared with \(oldName): no hour of \(oldName) before it or beside it is known"
      )
    }
    let verb = verdict.isWorse ? "is worse than" : "is not shown to be worse than"
    let unit = verdict.measure == "requests" ? "requests" : "process-hours"
    return CleanText.line(
      "\(program)\(newName) \(verb) \(oldName): \(Listings.grouped(verdict.newCrashes)) "
        + "\(verdict.newCrashes == 1 ? "crash" : "crashes"), \(number(expected)) expected by \(oldName)'s \(unit) "
        + "(evidence \(number(verdict.evidence)), worse from \(number(verdict.threshold)))")
  }

  /// Returns the error for a build that crashd does not know, with the builds that it knows.
  public static func unknown(_ word: String, _ report: HealthReport) -> Failure {
    let known = report.builds.suffix(8).reversed().map { build in
      let release = build.release.map { " (\($0))" } ?? ""
      return "\(build.program) \(build.build.prefix(12))\(release)"
    }
    let list = known.isEmpty ? "none has attached yet" : "known: " + known.joined(separator: ", ")
    let what =
      word.isEmpty
      ? "there is no other build to compare with" : "no build, or more than one, has the id or release '\(word)'"
    return Failure(status: unknownBuild, CleanText.line("\(what); \(list)"))
  }

  /// The exit code for a build that crashd does not know.
  public static let unknownBuild: Int32 = 4

  /// The release of a build, or the beginning of its id.
  private static func name(of build: BuildHealth) -> String { build.release ?? String(build.build.prefix(12)) }

  /// The names of both builds; for builds with the same release, their ids.
  private static func names(_ verdict: BuildVerdict, _ new: BuildHealth?, _ old: BuildHealth?) -> (String, String) {
    let ids = (String(verdict.build.prefix(12)), String(verdict.against.prefix(12)))
    let named = (new.map(name) ?? ids.0, old.map(name) ?? ids.1)
    return named.0 == named.1 ? ids : named
  }

  /// Formats a running time in hours, such as `4.1` or `1,204`.
  static func hours(_ seconds: Double) -> String {
    let hours = seconds / 3_600
    return hours > 0 && hours < 0.01 ? "<0.01" : number(hours)
  }

  /// Formats the share of requests that no crash ended.
  ///
  /// The number of digits is such that the share of the lost requests has at least two significant digits.
  static func crashFree(_ requests: BuildHealth.Requests) -> String {
    guard let share = requests.crashFree else { return "" }
    if share == 1 { return "100%" }
    if share == 0 { return "0%" }
    let lost = (1 - share) * 100
    let digits = lost >= 10 ? 1 : min(9, 2 + max(0, Int((-log10(lost)).rounded(.down))))
    // Round the lost share up, so that a loss never looks like 100 %.
    let scale = pow(10, Double(digits))
    return fixed(((100 - lost) * scale).rounded(.down) / scale, digits) + "%"
  }

  /// Formats the rate and its interval, such as `8.9 (1.8–26)`.
  private static func rate(_ build: BuildHealth) -> String {
    guard let rate = build.crashesPerThousandHours, let lower = build.rateLower, let upper = build.rateUpper else {
      return ""
    }
    // The rate of a build that ran only for seconds has no meaning.
    if rate >= 1e6 { return ">1,000,000" }
    return "\(number(rate)) (\(number(lower))–\(number(upper)))"
  }

  private static func time(_ milliseconds: Double) -> String {
    DurationText.text(.milliseconds(Int(min(max(milliseconds, 0), 1e12))))
  }

  /// Formats a number with two digits, such as `0.042`, `8.9`, `26` or `1,463`.
  static func number(_ value: Double) -> String {
    guard value.isFinite, value < 1e15 else { return "∞" }
    guard value > 0 else { return "0" }
    if value >= 9.95 { return Listings.grouped(Int(value.rounded())) }
    if value < 1e-6 { return "<0.000001" }
    return fixed(value, 1 + max(0, Int((-log10(value)).rounded(.up))))
  }

  private static func fixed(_ value: Double, _ digits: Int) -> String {
    let scale = Int(pow(10, Double(digits)))
    let scaled = Int((value * Double(scale)).rounded())
    let rest = String(scaled % scale)
    return "\(scaled / scale).\(String(repeating: "0", count: max(0, digits - rest.count)))\(rest)"
  }
}
