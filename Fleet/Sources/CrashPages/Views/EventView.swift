internal import CrashReport

/// One crash: the HTML of the report, inside the frame of the pages.
struct EventView: PageView {
  static let template = "event"
  static let isLive = false

  /// The maximum size of the report's HTML, which keeps the page below 100 KB.
  private static let limitBytes = 88_000

  var title: String
  var report: CrashReport
  var issue: String?
  var newer: String?
  var older: String?
  var path: String
  /// The report as HTML.
  ///
  /// This is the only string that the template does not escape.
  let html: String
  /// The parts of the report that the page omits; nil if it omits none.
  let omission: String?

  private enum CodingKeys: CodingKey { case report, newer, older }

  init(_ detail: EventDetail) {
    report = detail.report
    let sentence = report.diagnosis.sentence
    title = CrashText.clip(
      "\(report.process.name): \(sentence.isEmpty ? "crashed by \(report.signal.name)" : sentence)", to: 200)
    issue = detail.issue.isEmpty ? nil : PagePath.issue(detail.issue)
    (newer, older) = (detail.newer.map(PagePath.event), detail.older.map(PagePath.event))
    path = PagePath.event(report.id)
    (html, omission) = Self.fitting(report)
  }

  /// Returns the report as HTML of a limited size, and the parts that it omits.
  private static func fitting(_ report: CrashReport) -> (html: String, omission: String?) {
    var smaller = report
    var html = HTMLRenderer().fragment(smaller)
    if html.utf8.count <= limitBytes { return (html, nil) }
    smaller.images = []
    html = HTMLRenderer().fragment(smaller)
    if html.utf8.count <= limitBytes { return (html, "the loaded images") }
    smaller.threads = report.threads.filter(\.crashed)
    smaller.breadcrumbs = report.breadcrumbs.suffix(20)
    html = HTMLRenderer().fragment(smaller)
    if html.utf8.count <= limitBytes {
      return (html, "the loaded images, threads that did not crash, and older breadcrumbs")
    }
    return (ReportCutter(report).html(limitBytes: limitBytes), "long names and most of the details")
  }
}
