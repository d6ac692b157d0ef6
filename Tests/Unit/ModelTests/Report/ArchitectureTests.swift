import CrashReport
import Testing

/// Tests AArch64 reports in every readable format.
@Suite("Reports of AArch64")
struct ArchitectureTests {
  /// A trap with the values 0x1000 to 0x101e in the registers x0 to x30.
  static var report: CrashReport {
    var report = Sample.indexOutOfRange
    report.process.architecture = "aarch64"
    report.signal = CrashReport.Signal(
      number: 5, name: "SIGTRAP", code: 1, codeName: "TRAP_BRKPT", address: 0x5581_2345_6789)
    var registers: [String: Address] = [
      "sp": 0xffff_e3a1_b6e0, "pc": 0x5581_2345_6789, "pstate": 0x6000_1000, "far": 0x18, "esr": 0x9200_0046,
    ]
    for number in 0...30 { registers["x\(number)"] = Address(UInt64(0x1000 + number)) }
    report.threads[0].registers = registers
    return report
  }

  @Test("Apple's crash format has Apple's names and order of the AArch64 registers")
  func apple() throws {
    let lines = AppleRenderer().render(Self.report).split(separator: "\n").map(String.init)
    #expect(lines.contains("Code Type:             ARM-64 (Native)"))
    #expect(lines.contains("Exception Type:        EXC_BREAKPOINT (SIGTRAP)"))
    let start = try #require(lines.firstIndex(of: "Thread 0 crashed with ARM Thread State (64-bit):"))
    #expect(
      lines[(start + 1)...].prefix(9) == [
        "    x0: 0x0000000000001000      x1: 0x0000000000001001      x2: 0x0000000000001002      x3: 0x0000000000001003",
        "    x4: 0x0000000000001004      x5: 0x0000000000001005      x6: 0x0000000000001006      x7: 0x0000000000001007",
        "    x8: 0x0000000000001008      x9: 0x0000000000001009     x10: 0x000000000000100a     x11: 0x000000000000100b",
        "   x12: 0x000000000000100c     x13: 0x000000000000100d     x14: 0x000000000000100e     x15: 0x000000000000100f",
        "   x16: 0x0000000000001010     x17: 0x0000000000001011     x18: 0x0000000000001012     x19: 0x0000000000001013",
        "   x20: 0x0000000000001014     x21: 0x0000000000001015     x22: 0x0000000000001016     x23: 0x0000000000001017",
        "   x24: 0x0000000000001018     x25: 0x0000000000001019     x26: 0x000000000000101a     x27: 0x000000000000101b",
        "   x28: 0x000000000000101c      fp: 0x000000000000101d      lr: 0x000000000000101e      sp: 0x0000ffffe3a1b6e0",
        "    pc: 0x0000558123456789    cpsr: 0x0000000060001000     far: 0x0000000000000018     esr: 0x0000000092000046",
      ])
  }

  @Test("the text report has the registers in a fixed order, and names the architecture unless it is x86-64")
  func text() throws {
    let text = TextRenderer(width: 100, verbose: true).render(Self.report)
    #expect(text.contains("\nArch     aarch64\n"))
    let order: [String] = ["pc", "sp", "x29", "x30"] + (0...28).map { "x\($0)" } + ["pstate"]
    let known = Set(order)
    let words = text.split { $0 == " " || $0 == "\n" }.map { String($0) }
    #expect(words.filter(known.contains) == order)
    var other = Sample.indexOutOfRange
    let before = TextRenderer(width: 100, verbose: true).render(other)
    other.process.architecture = "x86_64"
    #expect(TextRenderer(width: 100, verbose: true).render(other) == before)
  }

  @Test("the HTML page names the architecture AArch64")
  func html() {
    #expect(HTMLRenderer().render(Self.report).contains("<dt>Architecture</dt><dd>aarch64</dd>"))
    #expect(!HTMLRenderer().render(Sample.everything).contains("Architecture"))
  }

  @Test("an architecture that this version does not know is named, and its registers are shown")
  func unknown() {
    var report = Self.report
    report.process.architecture = "riscv64\u{1b}[2J"
    let text = AppleRenderer().render(report)
    #expect(text.contains("Code Type:             riscv64") && text.contains("Thread 0 crashed with Thread State:"))
    #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0.value != 0x7f })
    #expect(TextRenderer(width: 100, verbose: true).render(report).contains("Arch     riscv64"))
    #expect(MinidumpRenderer().render(report).starts(with: Array("MDMP".utf8)))
  }
}
