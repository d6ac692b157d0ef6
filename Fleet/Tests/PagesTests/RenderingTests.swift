import CrashReport
import Foundation
import Testing

@testable import CrashPages
@testable import pages_sample

/// Tests all views: without crashes, with one crash, and with strings that a hostile process chose.
@Suite("Pages")
struct RenderingTests {
  static let paths = [
    "/issues", "/issues/cafe", "/events", "/events/a1", "/timeline", "/incidents", "/use-after-free", "/processes",
    "/builds", "/health", "/alarm",
  ]
  static let lists = paths.filter { !$0.hasSuffix("/cafe") && !$0.hasSuffix("/a1") }

  static func answer(_ source: FakeSource, _ target: String) async throws -> PageAnswer {
    let now = try #require(Timestamp.nanoseconds(rfc3339: "2026-11-29T12:00:30Z"))
    return await (try Site(source: source, now: { now })).answer(PageRequest(target: target))
  }

  static func html(_ source: FakeSource, _ target: String) async throws -> String {
    String(decoding: try await answer(source, target).body, as: UTF8.self)
  }

  @Test("a page without crashes says so, and a page with one shows it", arguments: paths)
  func counts(path: String) async throws {
    for count in [0, 1] where count == 1 || Self.lists.contains(path) {
      let answer = try await Self.answer(FakeSource(count: count), path)
      let html = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 200 && answer.contentType == "text/html; charset=utf-8")
      #expect(Markup(html).complaints.isEmpty)
      #expect(html.contains("<h1") && !html.contains("{{"))
      if count == 1 { #expect(html.contains("text")) }
    }
  }

  @Test("a hostile string changes no tag and no attribute, and no control character reaches the page", arguments: paths)
  func hostile(path: String) async throws {
    let plain = Markup(try await Self.html(FakeSource(text: "plain text of one line"), path))
    for text in FakeSource.hostile {
      let html = try await Self.html(FakeSource(text: text), path)
      let markup = Markup(html)
      #expect(markup.complaints.isEmpty, "\(text.debugDescription.prefix(60))")
      // Compare the tags only for strings of usual length: a page omits facts without text, and shortens a very large
      // report.
      if (1..<10_000).contains(text.utf8.count) {
        #expect(markup.tags == plain.tags, "\(text.debugDescription.prefix(60))")
      }
      #expect(!html.unicodeScalars.contains { CleanText.isUnsafe($0) })
      #expect(html.utf8.count <= Site.pageBytes)
    }
  }

  @Test("a page of the longest hostile strings has fewer rows, and stays below 100 KB", arguments: paths)
  func size(path: String) async throws {
    for text in ["\"", "<\u{338}", "\u{10ffff}"] {
      let source = FakeSource(text: String(repeating: text, count: 10_240), count: 200)
      let answer = try await Self.answer(source, path)
      #expect(answer.status == 200 && answer.body.count <= Site.pageBytes)
      #expect(Markup(String(decoding: answer.body, as: UTF8.self)).complaints.isEmpty)
    }
  }

  @Test("each page has one heading of the first level, and no heading or link is invisible", arguments: paths)
  func headings(path: String) async throws {
    let invisible = CharacterSet.whitespacesAndNewlines.union(["\u{200b}", "\u{3164}"])
    for text in FakeSource.hostile + [String(repeating: "\u{10ffff}", count: 10_240)] {
      for count in [1, 3] {
        let names = Markup(try await Self.html(FakeSource(text: text, count: count), path)).names
        #expect(names.filter { $0.element == "h1" }.count == 1, "\(text.debugDescription.prefix(60))")
        let blank = names.filter { $0.text.trimmingCharacters(in: invisible).isEmpty }.map(\.element)
        #expect(blank.isEmpty, "\(text.debugDescription.prefix(60))")
      }
    }
  }

  @Test("a count of one has a noun in the singular, and another count has a plural", arguments: paths)
  func nouns(path: String) async throws {
    // A page shows 30 alarms, so with 31 items it says that 1 more alarm exists.
    for count in [1, 31] {
      let text = Markup(try await Self.html(FakeSource(count: count, figure: 1), path)).text
      let plural = /\b1 (?:more )?(?:crashes|hosts|requests|times|hits|accesses|issues|classes|programs|rows)\b/
      #expect(text.matches(of: plural).map { String($0.output) }.isEmpty)
    }
    let one = try await Self.html(FakeSource(figure: 1), path)
    let two = try await Self.html(FakeSource(figure: 2), path)
    #expect(!two.contains("2 crash ") && !two.contains("> crash<") && !two.contains("> host<"))
    if path == "/issues" { #expect(one.contains("> crash<") && two.contains("> crashes<")) }
  }

  @Test(
    "the usual number of crashes a day has two decimals below 1, else at most one",
    arguments: [
      (0.004, "less than 0.01"), (0.034, "0.03"), (0.994, "0.99"), (0.996, "1"), (1.25, "1.3"), (0.0, "0"),
      (-Double.infinity, "–"),
    ])
  func usual(rate: Double, text: String) {
    let program = Alarms.Program(name: "shop", level: "base", evidence: 1, threshold: 2, usualPerDay: rate, days: [])
    #expect(AlarmView.Row(program, [], now_ns: 0).usual.description == text)
  }

  @Test("each page has a JSON twin with the same contents, without control characters", arguments: paths)
  func twin(path: String) async throws {
    for text in ["text"] + FakeSource.hostile {
      let answer = try await Self.answer(FakeSource(text: text), path + ".json")
      #expect(answer.status == 200 && answer.contentType == "application/json; charset=utf-8")
      let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
      #expect(try #require(object).isEmpty == false)
      let body = String(decoding: answer.body, as: UTF8.self)
      #expect(!body.unicodeScalars.contains { CleanText.isUnsafe($0) })
      if text == "text" { #expect(body.contains("\"text\"")) }
    }
  }

  @Test("a list with more items than a page links to the next page, and keeps the search")
  func pages() async throws {
    let html = try await Self.html(FakeSource(count: 60), "/issues?q=state:new&sort=count")
    #expect(html.contains(#"href="/issues?q=state%3Anew&amp;sort=count&amp;page=next%2025%20text" rel="next""#))
    #expect(html.contains(#"value="state:new""#))
    let last = try await Self.html(FakeSource(count: 1), "/events?page=x")
    #expect(!last.contains("rel=\"next\"") && last.contains(">Newest</a>"))
  }

  @Test("a page with fewer rows continues after its last row, and needs no further data")
  func fewer() async throws {
    let source = FakeSource(text: String(repeating: "\"", count: 1_000), count: 200)
    let html = try await Self.html(source, "/events")
    let rows = html.ranges(of: "href=\"/events/a1\"").count
    #expect(rows > 0 && rows < 50 && html.contains("page=next%20\(rows)%20"))
    #expect(source.calls.all == ["events 50"])
  }

  @Test("the event page has the report's sections, its neighbors, and the whole report as a file")
  func event() async throws {
    let html = try await Self.html(FakeSource(), "/events/a1")
    #expect(html.contains("<h2>Details</h2>") && html.contains(#"href="/events/b2" rel="prev""#))
    #expect(html.contains(#"href="/events/c3" rel="next""#))
    let file = try await Self.answer(FakeSource(), "/events/a1/report.html")
    #expect(file.fileName == "crash-a1.html")
    #expect(String(decoding: file.body, as: UTF8.self) == HTMLRenderer().render(FakeSource.report("text")))
  }

  @Test("a report that exceeds a page is cut, and the page says so")
  func cut() async throws {
    let html = try await Self.html(FakeSource(text: String(repeating: "f", count: 400), count: 60), "/events/a1")
    #expect(html.contains("this page lacks") && html.contains("Save the whole report"))
    #expect(html.utf8.count <= Site.pageBytes)
  }

  @Test("a report of long strings has all sections with short strings, also in the fields that few reports have")
  func cutter() throws {
    let long = String(repeating: "A", count: 10_240)
    var report = FakeSource.report(long)
    var machine = CrashReport.Machine()
    (machine.host, machine.kernel) = (long, long)
    report.machine = machine
    report.raisedAgain = .init(signal: report.signal, function: long)
    (report.process.cgroup, report.losses, report.annotations) = (long, [long: 1], ["a": long, long: "b"])
    let html = try #require(ReportCutter(report).html(limitBytes: 80_000))
    #expect(html.contains("<h2>Machine</h2>") && html.contains(String(repeating: "A", count: 60)))
    #expect(!html.contains(String(repeating: "A", count: 301)))
    #expect(ReportCutter(report).html(limitBytes: 1_000) == nil)
  }

  @Test("the page of a report that has no shorter form has a heading, and offers the whole report")
  func title() throws {
    var report = FakeSource.report(String(repeating: "<", count: 10_240))
    // JSON cannot express this number, so the report has no shorter form.
    report.diagnosis.confidence = .nan
    let frame = Frame(title: "", scope: "", views: [], query: "", searchPath: "/issues", twin: nil, isLive: false)
    let html = try Templates().html(Shown(frame: frame, view: EventView(EventDetail(report: report))))
    #expect(html.contains("<h1>&lt;") && html.contains("this page lacks the report. "))
    #expect(html.contains("Save the whole report") && html.utf8.count <= Site.pageBytes)
  }

  @Test("each label of the delays is the lower bound of the bar above it")
  func ticks() {
    let plot = DelayPlot.plot([12_000])
    #expect(plot.ticksStartParts && plot.points.count == 2 * plot.ticks.count && plot.bars.map(\.x) == ["21"])
    for (index, tick) in plot.ticks.enumerated() {
      #expect(plot.points[2 * index].label.hasPrefix(tick.label), "\(tick.label)")
    }
  }

  @Test("only the report is inserted without escaping")
  func unescaped() {
    for (name, bytes) in Templates.sources {
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(text.ranges(of: "{{{").count == (name == "event" ? 1 : 0) && !text.contains("{{&"))
      #expect(!text.contains("CONTENT_TYPE"))
    }
  }

  @Test("plots have a bar for each hour with crashes, and a single crash is visible")
  func plots() {
    let points = [0, 1, 1_000_000].map { BarPlot.Point(label: "hour", count: $0) }
    let plot = BarPlot(points, summary: "crashes", height: 60)
    #expect(plot.bars.map(\.height) == ["2", "60"] && plot.bars.map(\.x) == ["11", "21"])
    #expect(BarPlot([], summary: "none").isEmpty && BarPlot([.init(label: "", count: 0)], summary: "").bars.isEmpty)
    #expect(Sparkline(points, period: "3 hours").path == "M4 24v-2h3v2zM8 24v-24h3v24z")
    #expect(DetectionPlot([]) == nil)
    #expect(DelayPlot.plot([-5, 0, 999, Int.max]).points.map(\.count) == [3, 0, 0, 0, 0, 0, 0, 0, 0, 1])
  }
}
