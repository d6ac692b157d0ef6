internal import CrashReport

/// The page of one crash: the HTML of the report, below the navigation of the pages.
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
  /// The report as HTML; nil if the page shows only its title.
  ///
  /// This is the only string that the template does not escape.
  let html: String?
  /// The parts of the report that the page omits; nil if it omits none.
  let omission: String?

  private enum CodingKeys: CodingKey { case report, newer, older }

  init(_ detail: EventDetail) {
    report = detail.report
    let sentence = report.diagnosis.sentence
    title = CrashText.clip(
      "\(report.process.name): \(CleanText.isBlank(sentence) ? "crashed by \(report.signal.name)" : sentence)", to: 200)
    issue = detail.issue.isEmpty ? nil : PagePath.issue(detail.issue)
    (newer, older) = (detail.newer.map(PagePath.event), detail.older.map(PagePath.event))
    path = PagePath.event(report.id)
    (html, omission) = Self.fitting(report)
  }

  /// Returns the report as HTML of a limited size, and the parts that it omits.
  private static func fitting(_ report: CrashReport) -> (html: String?, omission: String?) {
    if let html = html(report) { return (html, nil) }
    var smaller = report
    smaller.images = []
    if let html = html(smaller) { return (html, "the loaded images") }
    smaller.threads = report.threads.filter(\.crashed)
    smaller.breadcrumbs = report.breadcrumbs.suffix(20)
    if let html = html(smaller) {
      return (html, "the loaded images, threads that did not crash, and older breadcrumbs")
    }
    if let html = ReportCutter(report).html(limitBytes: limitBytes) {
      return (html, "long names and most of the details")
    }
    return (nil, "the report")
  }

  /// Returns the report as HTML; nil if it exceeds the limit.
  private static func html(_ report: CrashReport) -> String? {
    // Do not render a report with very long strings: this would take long, and the result would exceed the limit.
    guard textBytes(report) <= 10 * limitBytes else { return nil }
    let html = HTMLRenderer().fragment(report)
    return html.utf8.count <= limitBytes ? html : nil
  }

  /// Returns the number of bytes of the frames and images.
  private static func textBytes(_ report: CrashReport) -> Int {
    let frames = report.threads.lazy.flatMap(\.frames).map { frame in
      frame.function.utf8.count + (frame.file?.utf8.count ?? 0) + (frame.image?.utf8.count ?? 0)
    }
    return frames.reduce(0, +) + report.images.lazy.map { $0.path.utf8.count }.reduce(0, +)
  }
}
