import CrashReport
import Testing

@Suite("The unwind cross-check in a report")
struct UnwindingTests {
  private func report(_ unwinding: [CrashReport.Unwinding]?) -> CrashReport {
    var report = Sample.indexOutOfRange
    report.unwinding = unwinding
    return report
  }

  private let equal = CrashReport.Unwinding(tid: 12, agreement: .equal, shown: .handler, common: 7, found: 7)
  private let different = CrashReport.Unwinding(
    tid: 13, agreement: .different, shown: .snapshot, common: 1, found: 9,
    others: [.init(address: 0x40_0010, trust: .framePointer)])

  @Test("an agreeing unwind cross-check is shown in the verbose report only")
  func agreement() {
    let report = report([equal])
    #expect(!TextRenderer().render(report).contains("Unwind cross-check"))
    let lines = TextRenderer(verbose: true).render(report).split(separator: "\n")
    #expect(lines.contains("Unwind cross-check outside the process"))
    #expect(lines.contains("  Thread 12: both stacks have the same 7 frames."))
  }

  @Test("a differing unwind cross-check is always shown, with the frames that are not in the report's stack")
  func difference() {
    let lines = TextRenderer().render(report([equal, different])).split(separator: "\n")
    let start = lines.firstIndex(of: "Unwind cross-check outside the process")
    #expect(
      start.map { Array(lines[($0 + 1)...].prefix(2)) } == [
        "  Thread 13: both stacks have the same 1 frame, then different callers; the frames of the",
        "  cross-check are shown above, the others below.",
      ])
    #expect(lines.contains("    0x400010  frame-pointer"))
  }

  @Test("a differing cross-check states how many frames only one of the two stacks has")
  func lengths() {
    let shorter = CrashReport.Unwinding(tid: 1, agreement: .shorter, shown: .handler, common: 3, found: 3)
    let longer = CrashReport.Unwinding(tid: 2, agreement: .longer, shown: .snapshot, common: 3, found: 5)
    let text = TextRenderer(verbose: true).render(report([shorter, longer]))
    #expect(text.contains("  Thread 1: both stacks have the same 3 frames, then the copy of the stack ends.\n"))
    #expect(text.contains("  Thread 2: both stacks have the same 3 frames, then the cross-check has 2 more; "))
  }

  @Test("the unwind cross-check is kept in JSON, and its key is absent in a report without a cross-check")
  func json() throws {
    let report = report([equal, different])
    #expect(try ReportCoding.decode(try ReportCoding.encode(report).utf8) == report)
    #expect(try !ReportCoding.encode(self.report(nil)).contains("unwinding"))
  }
}
