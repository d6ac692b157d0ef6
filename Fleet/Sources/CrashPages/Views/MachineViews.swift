/// The attached processes.
struct ProcessesView: PageView {
  static let template = "processes"

  /// One process.
  struct Row: Encodable, Sendable {
    var process: AttachedProcess
    var program: String
    var executable: String
    var build: String
    var start: Moment
    var search: String?

    private enum CodingKeys: CodingKey { case process }

    init(_ process: AttachedProcess, now_ns: UInt64) {
      self.process = process
      (program, executable) = (
        CrashText.visible(process.program, to: 60, or: "without a name"), CrashText.clip(process.executable, to: 160)
      )
      build = BuildText.short(nil, process.build)
      start = Moment(process.start, now_ns: now_ns)
      search = SearchParser.term(.program, process.program).flatMap { PagePath.search("/issues", $0) }
    }
  }

  var title = "Processes"
  var rows: [Row]
  var hasHosts: Bool
  var total: Figure?
  var next: String?
  var start: String?

  private enum CodingKeys: CodingKey { case rows, total, next }
}

/// The builds that crashed.
struct BuildsView: PageView {
  static let template = "builds"

  /// One build.
  struct Row: Encodable, Sendable {
    var build: BuildSummary
    var programs: String
    var name: String
    var count: Figure
    var issues: Figure
    var newIssues: Figure?
    var first: Moment
    var last: Moment
    /// The length of the bar for the crashes, at most 100.
    let width: String
    var rate: Figure?
    var interval: String?
    var crashFree: Figure?

    private enum CodingKeys: CodingKey { case build }
  }

  var title = "Builds"
  var rows: [Row]
  /// Whether the source counts process-hours, which the release health needs.
  var hasHealth: Bool

  private enum CodingKeys: CodingKey { case rows }

  init(_ builds: [BuildSummary], limit: Int, now_ns: UInt64) {
    let most = Double(max(1, builds.map(\.count).max() ?? 1))
    hasHealth = builds.contains { $0.health != nil }
    rows = builds.prefix(limit).map { build in
      Row(
        build: build, programs: IssuesView.programs(build.programs), name: BuildText.short(build.release, build.build),
        count: Figure(build.count), issues: Figure(build.issues),
        newIssues: build.newIssues > 0 ? Figure(build.newIssues) : nil, first: Moment(build.first, now_ns: now_ns),
        last: Moment(build.last, now_ns: now_ns),
        width: Figure.coordinate(max(0.5, Double(build.count) / most * 100)),
        rate: build.health.map { .rounded($0.crashesPer1000Hours) },
        interval: build.health.map { "\(Figure.rounded($0.lower)) to \(Figure.rounded($0.upper))" },
        crashFree: build.health.flatMap { $0.crashFreeRequests.map { Figure($0, "\(Figure.rounded($0 * 100)) %") } })
    }
  }
}

/// The health of the service.
struct HealthView: PageView {
  static let template = "health"

  var title = "Health"
  var health: ServiceHealth

  /// The health with at most `limit` facts in a section.
  init(_ health: ServiceHealth, limit: Int) {
    self.health = health
    self.health.sections = health.sections.map { section in
      ServiceHealth.Section(CrashText.visible(section.title, or: "Other"), Array(section.facts.prefix(limit)))
    }
  }
}

/// The alarms about use-after-free crashes.
struct AlarmView: PageView {
  static let template = "alarm"

  /// The alarm of one program.
  struct Row: Encodable, Sendable {
    var program: Alarms.Program
    var name: String
    var evidence: Figure
    var threshold: Figure
    var usual: Figure
    /// The length of the bar for the evidence, at most 100.
    let width: String
    var isAlarm: Bool
    var crashes: BarPlot
    var hits: BarPlot?
    var lastSwitch: String?
    var lastSwitchTime: Moment?

    private enum CodingKeys: CodingKey { case program }
  }

  /// A decision.
  struct DecisionRow: Encodable, Sendable {
    var decision: Alarms.Decision
    var time: Moment
    var program: String
    var text: String

    private enum CodingKeys: CodingKey { case decision }
  }

  var title = "Alarm"
  var rows: [Row]
  var decisions: [DecisionRow]
  var more: Figure?

  private enum CodingKeys: CodingKey { case rows, decisions }

  init(_ alarms: Alarms, limit: Int, now_ns: UInt64) {
    let days = HourSeries(now_ns: now_ns).days(30)
    rows = alarms.programs.prefix(limit).map { Row($0, days, now_ns: now_ns) }
    decisions = alarms.decisions.prefix(limit).map { decision in
      DecisionRow(
        decision: decision, time: Moment(decision.time, now_ns: now_ns),
        program: CrashText.clip(decision.program, to: 60), text: CrashText.clip(decision.text, to: 300))
    }
    more = alarms.programs.count > limit ? Figure(alarms.programs.count - limit) : nil
  }
}
