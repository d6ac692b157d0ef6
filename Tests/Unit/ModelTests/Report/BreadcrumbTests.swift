import CrashReport
import Foundation
import Testing

@Suite("Breadcrumbs in reports")
struct BreadcrumbTests {
  private static func report(_ breadcrumbs: [CrashReport.Breadcrumb]) -> CrashReport {
    var report = Sample.indexOutOfRange
    report.breadcrumbs = breadcrumbs
    return report
  }

  private static let crumbs = [
    CrashReport.Breadcrumb(time: "2026-11-21T08:13:05.023456Z", text: "started"),
    CrashReport.Breadcrumb(
      time: "2026-11-21T08:13:07.109456Z", text: "GET /cart/17", level: .info, category: "shop.http",
      metadata: ["request-id": "7F3A", "a": "b"]),
    CrashReport.Breadcrumb(
      time: "2026-11-21T08:13:07.123056Z", text: "no stock", level: .error, category: "stock"),
  ]

  @Test(
    "the time of a breadcrumb is relative to the crash",
    arguments: [
      ("08:13:07.123456", "0 µs"), ("08:13:07.123056", "−400 µs"), ("08:13:07.109456", "−14 ms"),
      ("08:13:05.023456", "−2.1 s"), ("08:12:00.123456", "−1 min 7 s"), ("06:03:07.123456", "−2 h 10 min"),
      ("08:13:07.124456", "+1 ms"),
    ])
  func relative(time: String, expected: String) {
    let crumb = CrashReport.Breadcrumb(time: "2026-11-21T\(time)Z", text: "x")
    #expect(Sample.indexOutOfRange.relativeTime(of: crumb) == expected)
  }

  @Test("the time of a breadcrumb is shown in days if it exceeds a day, and unchanged if it is invalid")
  func otherTimes() {
    let report = Sample.indexOutOfRange
    #expect(report.relativeTime(of: .init(time: "2026-11-18T07:13:07.123456Z", text: "x")) == "−3 d 1 h")
    #expect(report.relativeTime(of: .init(time: "yesterday", text: "x")) == "yesterday")
  }

  @Test("the text report aligns time, level and category, and metadata follows the message")
  func text() {
    let text = TextRenderer().render(Self.report(Self.crumbs))
    #expect(
      text.contains(
        """
        Breadcrumbs
           −2.1 s                    started
           −14 ms  info   shop.http  GET /cart/17  a=b request-id=7F3A
          −400 µs  error  stock      no stock

        """))
  }

  @Test("breadcrumbs without a level and a category get no columns for them")
  func plain() {
    let text = TextRenderer().render(Self.report([Self.crumbs[0]]))
    #expect(text.contains("Breadcrumbs\n  −2.1 s  started\n"))
  }

  @Test("breadcrumbs with the level error or warning are colored, in text and in HTML")
  func colors() {
    var crumbs = Self.crumbs
    crumbs[0].level = .warning
    let text = TextRenderer(color: true).render(Self.report(crumbs))
    #expect(text.contains("\u{1b}[33mwarning\u{1b}[0m") && text.contains("\u{1b}[1;31merror  \u{1b}[0m"))
    let page = HTMLRenderer().render(Self.report(crumbs))
    #expect(page.contains("<td class=\"place\">warning</td>") && page.contains("<td class=\"alarm\">error</td>"))
    #expect(page.contains("<time title=\"2026-11-21T08:13:07.109456Z\">−14 ms</time>"))
    #expect(page.contains("GET /cart/17 <span class=\"note\">a=b</span> <span class=\"note\">request-id=7F3A</span>"))
  }

  @Test("a stored breadcrumb without a level decodes, and an unknown level is kept")
  func coding() throws {
    let stored = Data(#"[{"time":"t","text":"x"},{"time":"t","text":"y","level":"9"}]"#.utf8)
    let crumbs = try JSONDecoder().decode([CrashReport.Breadcrumb].self, from: stored)
    #expect(crumbs == [.init(time: "t", text: "x"), .init(time: "t", text: "y", level: .init("9"))])
    let encoded = try JSONEncoder().encode(crumbs[0])
    #expect(!String(decoding: encoded, as: UTF8.self).contains("level"))
  }
}
