import CrashReport
import TestKit
import Testing

@Suite("Replaced handlers of a report")
struct ReplacedHandlerTests {
  private var report: CrashReport {
    var report = Sample.indexOutOfRange
    report.replacedHandlers = [
      CrashReport.ReplacedHandler(
        signal: "SIGSEGV", kind: "handler", address: 0x40_0010, image: "/lib/libplugin.so", function: "on_crash"),
      CrashReport.ReplacedHandler(signal: "SIGFPE", kind: "default"),
      CrashReport.ReplacedHandler(signal: "SIGTRAP", kind: "ignored"),
      CrashReport.ReplacedHandler(signal: "SIGBUS", kind: "handler", address: 0x10),
    ]
    return report
  }

  @Test("the text report names replaced handlers")
  func text() {
    let lines = TextRenderer().render(report).split(separator: "\n")
    #expect(lines.contains("Signal handlers replaced after the start"))
    #expect(lines.contains("  SIGSEGV: by /lib/libplugin.so, on_crash"))
    #expect(lines.contains("  SIGFPE: back at its default action"))
    #expect(lines.contains("  SIGTRAP: ignored"))
    #expect(lines.contains("  SIGBUS: by 0x10"))
    #expect(!TextRenderer().render(Sample.indexOutOfRange).contains("Signal handlers"))
  }

  @Test("replaced handlers are kept in JSON, and their key is absent in a report without replaced handlers")
  func json() throws {
    let json = try ReportCoding.encode(report)
    #expect(try ReportCoding.decode(json.utf8) == report)
    #expect(try !ReportCoding.encode(Sample.indexOutOfRange).contains("replacedHandlers"))
  }
}
