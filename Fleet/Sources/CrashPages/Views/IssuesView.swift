internal import CrashProtocol
internal import CrashReport

/// The list of issues.
struct IssuesView: PageView {
  static let template = "issues"

  /// One issue.
  struct Row: Encodable, Sendable {
    var issue: Issue
    var programs: String
    var title: String
    var sentence: String?
    var path: String
    var count: Figure
    var hosts: Figure?
    var lost: Figure?
    var first: Moment
    var last: Moment
    var build: String
    var day: Sparkline
    var fortnight: Sparkline

    private enum CodingKeys: CodingKey { case issue, day, fortnight }
  }

  var title = "Issues"
  var rows: [Row]
  var states: [Choice]
  var orders: [Choice]
  var programs: [Choice]
  /// Whether the source knows hosts.
  var hasHosts: Bool
  /// Whether the source knows lost requests.
  var hasLost: Bool
  /// Whether there are no issues, although the search is empty.
  ///
  /// If it is true, the page explains how to get the first issue.
  var isFirstUse: Bool
  /// Whether the source shows attached processes.
  var hasProcesses: Bool
  var next: String?
  var start: String?

  private enum CodingKeys: CodingKey { case title, rows, programs, next }

  /// The title of an issue whose own title is not visible.
  static let untitled = "an issue without a title"

  /// Joins the names of programs for one line of a list.
  static func programs(_ names: [String]) -> String {
    let shown = names.prefix(3).map { CrashText.clip($0, to: 40) }.joined(separator: ", ")
    return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
  }
}

extension IssuesView.Row {
  init(_ issue: Issue, _ hours: [HourCount], _ series: HourSeries) {
    self.issue = issue
    programs = IssuesView.programs(issue.programs)
    title = CrashText.visible(issue.title, to: 200, or: IssuesView.untitled)
    // A sentence that repeats the title adds no information.
    sentence = issue.sentence.flatMap { CleanText.isBlank($0) || $0 == issue.title ? nil : CrashText.clip($0, to: 240) }
    (path, count) = (PagePath.issue(issue.key), Figure(issue.count))
    (hosts, lost) = (issue.hosts.map { Figure($0) }, issue.lostRequests.map { Figure($0) })
    (first, last) = (Moment(issue.first, now_ns: series.now_ns), Moment(issue.last, now_ns: series.now_ns))
    build = BuildText.short(issue.release, issue.lastBuild)
    day = Sparkline(series.points(hours, hours: 24), period: "24 hours")
    fortnight = Sparkline(series.points(hours, days: 14), period: "14 days")
  }
}

/// The name of a build in a list.
enum BuildText {
  /// Returns the release, or else the first digits of the build id.
  static func short(_ release: String?, _ build: String) -> String {
    if let release, !release.isEmpty { return CrashText.clip(release, to: 32) }
    return build.isEmpty ? "unknown" : String(build.prefix(10))
  }
}
