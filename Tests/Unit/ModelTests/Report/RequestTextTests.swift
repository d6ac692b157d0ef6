import CrashReport
import Testing

@Suite("Requests in the text report")
struct RequestTextTests {
  @Test("the header of the text report has the request of the crash")
  func head() throws {
    let head = try #require(TextRenderer(width: 200).render(Sample.everything).split(separator: "\n\n").first)
    #expect(
      head.contains(
        """

        in request GET /cart/{id} · id req-1111 · trace 4bf92f3577b34da6a3ce929d0e0e4736 · span 00f067aa0ba902b7 · \
        begun 34 ms before · tier=gold
        """))
    #expect(!TextRenderer().render(Sample.indexOutOfRange).contains("in request"))
  }

  @Test("the text report lists the ten oldest requests in flight with ages, and the number of the others")
  func inFlight() throws {
    let section = try #require(
      TextRenderer().render(Sample.everything).split(separator: "\n\n").first { $0.hasPrefix("Requests in flight") })
    let lines = section.split(separator: "\n")
    #expect(lines.count == 12)
    #expect(lines[0] == "Requests in flight: 12, and 3 began without a free entry since the process started")
    #expect(lines[1] == "  1 h 0 min  GET /events")
    #expect(lines[2] == "      1.0 s  GET /cart/{id}  id req-1101")
    #expect(lines[11] == "  … and 2 more: --json")
    var report = Sample.everything
    report.inFlight?.requests.removeSubrange(0..<10)
    report.inFlight?.total = 2
    let short = TextRenderer().render(report)
    #expect(short.contains("\n  34 ms  GET /cart/{id}  id req-1111  crashed\n") && !short.contains("more: --json"))
  }

  @Test("a report without the list of requests in flight states why", arguments: [true, false])
  func unlisted(isPreliminary: Bool) {
    var report = Sample.everything
    report.inFlight?.requests = []
    if isPreliminary { report.isPreliminary = true }
    let reason =
      isPreliminary ? "the complete report lists these requests" : "not listed, because the report would be too large"
    let text = TextRenderer().render(report)
    #expect(text.contains("since the process started\n  \(reason)\n") && !text.contains("more: --json"))
    #expect(HTMLRenderer().render(report).contains("<p class=\"note\">\(reason)</p>"))
  }

  @Test("a breadcrumb shows the ID of its request, or the number if the report does not contain the request")
  func breadcrumb() {
    var report = Sample.everything
    #expect(TextRenderer().render(report).contains("GET /cart/17  request req-1111\n"))
    report.breadcrumbs[1].request = 5
    #expect(TextRenderer().render(report).contains("GET /cart/17  request 5\n"))
  }

  @Test("the text report has the process's counts of requests")
  func counts() {
    var report = Sample.everything
    let text = "1200 begun, 1180 finished, 5 failed, 15 lost"
    #expect(TextRenderer().render(report).contains("Requests   \(text)\n"))
    report.process.requests?.isLookupRefused = true
    #expect(
      TextRenderer(width: 200).render(report)
        .contains("\(text); the request of a task is not found with this Swift runtime\n"))
  }

  @Test("strings of a request cannot break out of their line or inject markup")
  func hostile() {
    var report = Sample.everything
    report.threads[0].request?.operation = "GET /\n\u{1b}[31m<script>"
    report.inFlight?.requests[0].operation = "<b>\n"
    for text in [TextRenderer().render(report), HTMLRenderer().render(report)] {
      #expect(!text.contains("\u{1b}") && text.contains("GET /"))
    }
    #expect(!HTMLRenderer().render(report).contains("<script>"))
    #expect(HTMLRenderer().render(report).contains("&lt;b&gt;"))
  }
}
