import CrashReport
import Testing

@Suite("The source of a report")
struct SourceTests {
  private func report(_ source: CrashReport.Source?) -> CrashReport {
    var report = Sample.indexOutOfRange
    report.source = source
    return report
  }

  @Test("a report from a record line states this source in one row, in text and in HTML")
  func text() {
    let text = TextRenderer(width: 200).render(report(.recordLine))
    #expect(text.contains("Source   imported from a record line, which lacks other threads"))
    #expect(HTMLRenderer().render(report(.recordLine)).contains("<dt>Source</dt>"))
    #expect(!TextRenderer().render(report(nil)).contains("Source  "))
    #expect(!HTMLRenderer().render(report(nil)).contains("<dt>Source</dt>"))
  }

  @Test("a source that only a later version defines is shown without control characters")
  func later() {
    let text = TextRenderer().render(report(CrashReport.Source(rawValue: "\u{1b}[31mlater")))
    #expect(text.contains("later") && !text.contains("\u{1b}"))
  }

  @Test("the JSON of a report from a record line has the key `source`; other reports lack this key")
  func json() throws {
    let json = try ReportCoding.encode(report(.recordLine))
    #expect(json.contains(#""source":"record-line""#))
    #expect(try ReportCoding.decode(json.utf8) == report(.recordLine))
    #expect(try !ReportCoding.encode(report(nil)).contains(#""source""#))
  }
}
