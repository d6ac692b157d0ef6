internal import CrashReport

/// One crash, as the report's own HTML inside the frame of the pages.
struct EventView: PageView {
  static let template = "event"
  static let isLive = false

  /// The size of the report in the page, so that the page stays below 100 KB.
  private static let limitBytes = 88_000

  var title: String
  var report: CrashReport
  var issue: String?
  var newer: String?
  var older: String?
  var path: String
  /// The report as HTML.
  ///
  /// This is the only string that a template inserts without escaping it.
  let html: String
  /// What the page leaves out; nil if it has the whole report.
  let omission: String?

  private enum CodingKeys: CodingKey { case report, newer, older }

  init(_ detail: EventDetail) {
    report = detail.report
    let sentence = report.diagnosis.sentence
    title = CrashText.clip(
      "\(report.process.name): \(sentence.isEmpty ? "crashed by \(report.signal.name)" : sentence)", to: 200)
    issue = report.group.key.isEmpty ? nil : PagePath.issue(report.group.key)
    (newer, older) = (detail.newer.map(PagePath.event), detail.older.map(PagePath.event))
    path = PagePath.event(report.id)
    (html, omission) = Self.fitting(report)
  }

  /// Returns the report as HTML of a limited size, and what it lacks.
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
