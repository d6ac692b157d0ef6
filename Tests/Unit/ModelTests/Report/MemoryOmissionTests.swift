import CrashReport
import Testing

@Suite("A report without memory")
struct MemoryOmissionTests {
  private func report(_ omission: CrashReport.MemoryOmission?) -> CrashReport {
    var report = Sample.indexOutOfRange
    report.memoryOmitted = omission
    return report
  }

  @Test(
    "a report without memory names the setting that caused this in one line, in text and in HTML",
    arguments: [
      (CrashReport.MemoryOmission.program, "not stored: disabled by the program"),
      (.operator, "not stored: disabled for this program in crashd's settings"),
    ])
  func text(omission: CrashReport.MemoryOmission, line: String) {
    let lines = TextRenderer().render(report(omission)).split(separator: "\n")
    #expect(lines.contains("Memory   \(line)"))
    #expect(HTMLRenderer().render(report(omission)).contains("<dt>Memory</dt>"))
    #expect(!TextRenderer().render(report(nil)).contains("Memory  "))
    #expect(!HTMLRenderer().render(report(nil)).contains("<dt>Memory</dt>"))
  }

  @Test("the key memoryOmitted is kept in JSON, and is absent in reports with memory and in older reports")
  func json() throws {
    let json = try ReportCoding.encode(report(.operator))
    #expect(json.contains(#""memoryOmitted":"operator""#))
    #expect(try ReportCoding.decode(json.utf8) == report(.operator))
    #expect(try !ReportCoding.encode(report(nil)).contains("memoryOmitted"))
    // A reader must accept unknown values, because a later version can define more values.
    let later = try ReportCoding.decode(json.replacing(#""operator""#, with: #""later""#).utf8)
    #expect(later.memoryOmitted?.rawValue == "later")
  }
}
