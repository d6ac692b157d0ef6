import CrashReport
@testable import CrashRing
import CrashSymbols
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  @Suite("The expected class in a report")
  struct ExpectedClassTests {
    private static let block: UInt64 = 0x5555_5576_4a20

    /// Returns the report of a crash in a method call through a block of 64 bytes that contains these words.
    private static func builder(_ words: [UInt64]) -> ReportBuilder<SampleSymbols> {
      var record = CrashRecord.sample(
        code: 128, instruction: [0xff, 0x50, 0x38], frames: [.at(0x10010, exact: true)], stackStart: block - 8,
        stack: ([0x41] + words).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } })
      (record.registers[0], record.registers[13]) = (words[0], block)
      var contents = RingContents.sample([record])
      contents.memory.heapKey = key
      let symbols = SampleSymbols(chains: [
        0x10: [SourceFrame(mangled: "$s4shop5visityyF", file: "/src/a", line: 1)]
      ])
      return ReportBuilder(
        contents, process: ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil), symbols: symbols)
    }

    private static let key: UInt64 = 0x8dd2_38a1_0f3c_5b77
    private static let text: UInt64 = 0x2f76_312f_6970_612f
    private static let freed: [UInt64] = [text, key, 3, 4, 5, 6, 7, 0x31]
    private static let reused: [UInt64] = [text, text + 1, 3, 4, 5, 6, 7, 0x31]

    @Test("S10: the report's field and the group's title name the expected class, for each rule that determines it")
    func field() throws {
      for (words, rule) in [(Self.freed, "dangling-operand"), (Self.reused, "dangling-reuse")] {
        var builder = Self.builder(words)
        builder.scope = ScopeDescription(Array("V r 13 0 0 session\nT 0 Session\nS 56\n".utf8))
        let report = try #require(builder.report(id: "ab"))
        let diagnosis = report.diagnosis
        #expect(diagnosis.rule == rule)
        // The expected class is not in `className`, which names only a class that the operator can protect.
        #expect(diagnosis.expectedClass == "Session" && diagnosis.className == nil)
        #expect(report.group.title.hasPrefix("use-after-free of Session in "), "\(report.group.title)")
        #expect(
          try ReportCoding.encode(report).contains(#""expectedClass":"Session""#))
        let plain = try #require(Self.builder(words).report(id: "ab"))
        #expect(report.group.key == plain.group.key && plain.diagnosis.expectedClass == nil)
        #expect(!plain.group.title.contains("Session"), "\(plain.group.title)")
      }
    }

    @Test("S10: a later analysis keeps the expected class after the image was deleted")
    func earlier() {
      var builder = Self.builder(Self.freed)
      builder.scope = ScopeDescription(Array("V r 13 0 0 session\nT 0 Session\nS 56\n".utf8))
      builder.earlierDiagnosis = builder.report(id: "ab")?.diagnosis
      builder.scope = nil
      #expect(builder.report(id: "ab")?.diagnosis.expectedClass == "Session")
    }
  }
#endif
