import CrashReport
@testable import CrashRing
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

/// Tests the diagnosis rules with AArch64 records, which crashd reads on every architecture.
@Suite("The diagnosis of crashes on AArch64")
struct AArch64DiagnosisTests {
  private static let trap: UInt32 = 0xd420_0020  // brk #1
  private static let load: UInt32 = 0xf940_0c00  // ldr x0, [x0, #0x18]
  private static let store: UInt32 = 0xf900_0c00  // str x0, [x0, #0x18]
  /// Exception syndromes of a read, a write and an instruction fetch of an unmapped page, and of a write that the
  /// page's permissions forbid.
  private static let (read, write, fetch, denied) =
    (0x9200_0006 as UInt64, 0x9200_0046 as UInt64, 0x8200_0006 as UInt64, 0x9200_004f as UInt64)

  private static func diagnosis(_ record: CrashRecord, failure: String? = nil) -> CrashReport.Diagnosis {
    DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99, runtimeFailure: failure), at: nil)
  }

  @Test("a Swift trap is SIGTRAP with TRAP_BRKPT, and has the diagnosis and the group of a trap on x86-64")
  func traps() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [
        SourceFrame(mangled: "Swift runtime failure: Index out of range", isInline: true),
        SourceFrame(mangled: "checkout", file: "/src/Cart.swift", line: 42),
      ]
    ])
    let frames = [CrashRecord.Frame.at(0x10010, exact: true)]
    let arm = CrashRecord.sampleAArch64(
      signal: SIGTRAP, code: 1, address: 0x10010, words: [Self.trap], frames: frames)
    let intel = CrashRecord.sample(
      signal: SIGILL, code: 2, address: 0x10010, instruction: [0x0f, 0x0b], frames: frames)
    let report = try #require(RingContents.sample([arm]).report(symbols))
    let other = try #require(RingContents.sample([intel]).report(symbols))
    #expect(report.diagnosis == other.diagnosis && report.group == other.group && report.reason == other.reason)
    #expect(report.diagnosis.sentence == "Swift stopped the program: Index out of range in checkout (Cart.swift:42).")
    #expect(report.signal.name == "SIGTRAP" && report.signal.codeName == "TRAP_BRKPT")
    #expect(report.signal.address == 0x10010)
    #expect(report.process.architecture == "aarch64" && other.process.architecture == "x86_64")
    let names = Set((0...30).map { "x\($0)" } + ["sp", "pc", "pstate"])
    #expect(Set(report.threads[0].registers.keys) == names && report.threads[0].registers["pc"] == 0x10010)
  }

  @Test("the instruction distinguishes a trap, a breakpoint, an illegal instruction and a privileged one")
  func instructions() {
    func rule(_ signal: Int32, _ code: Int32, _ words: [UInt32]) -> String {
      Self.diagnosis(.sampleAArch64(signal: signal, code: code, address: 0x10010, words: words)).rule
    }
    #expect(rule(SIGTRAP, 1, [Self.trap]) == "trap")
    #expect(rule(SIGTRAP, 1, [0xd420_7d00]) == "trap")  // brk #1000, by gcc
    #expect(rule(SIGTRAP, 1, [0xd43e_0000]) == "breakpoint")  // brk #0xf000, by __builtin_debugtrap
    #expect(rule(SIGTRAP, 1, [0xd503_201f]) == "breakpoint")
    #expect(rule(SIGTRAP, 2, [Self.trap]) == "breakpoint")  // TRAP_TRACE
    #expect(rule(SIGTRAP, 1, []) == "trap-unseen" && rule(SIGILL, 1, []) == "trap-unseen")
    #expect(rule(SIGILL, 1, [0x0000_0000]) == "illegal-instruction")
    #expect(rule(SIGILL, 1, [0x0b0f_0b0f]) == "illegal-instruction")  // the bytes of x86's ud2
    #expect(rule(SIGILL, 1, [0xd69f_03e0]) == "privileged-instruction")  // eret
    #expect(rule(SIGILL, 1, [0xd503_42df]) == "privileged-instruction")  // msr daifset, #2
    #expect(rule(SIGILL, 1, [0xd500_419f]) == "privileged-instruction")  // msr pan, #1
    #expect(rule(SIGILL, 1, [0xd503_415f]) == "illegal-instruction")  // msr dit, #1
    #expect(Self.diagnosis(.sample(signal: SIGTRAP, code: 1, instruction: [0x20, 0, 0x20, 0xd4])).rule == "breakpoint")
  }

  @Test("a read of a dangling unowned reference is diagnosed as a use-after-free, although its signal is SIGTRAP")
  func unowned() {
    var record = CrashRecord.sampleAArch64(signal: SIGTRAP, code: 1, address: 0x10010, words: [Self.trap])
    record.message = "Fatal error: Attempted to read an unowned reference but object 0x1 was already deallocated"
    #expect(Self.diagnosis(record).rule == "dangling-unowned")
  }

  @Test("the syndrome distinguishes a read, a write and a jump; if it is missing, the instruction does")
  func access() {
    func sentence(_ esr: UInt64, _ words: [UInt32], pc: UInt64 = 0x10010, address: UInt64 = 0x18) -> String {
      Self.diagnosis(.sampleAArch64(address: address, pc: pc, esr: esr, words: words)).sentence
    }
    let (read, write) = ("Null pointer: read of offset 24 of null.", "Null pointer: write to offset 24 of null.")
    #expect(sentence(Self.read, [Self.load]) == read && sentence(0, [Self.load]) == read)
    #expect(sentence(Self.write, [Self.store]) == write && sentence(0, [Self.store]) == write)
    // An atomic operation, which reads and writes, is reported as a write.
    #expect(sentence(Self.write, [0xb820_0020], address: 0) == "Null pointer: write to address 0.")
    #expect(sentence(Self.fetch, [], pc: 0, address: 0) == "The program called through a null function pointer.")
    #expect(sentence(0, [], pc: 0, address: 0) == "The program called through a null function pointer.")
    let code = CrashRecord.sampleAArch64(code: 2, address: 0x20000, esr: Self.denied, words: [Self.store])
    #expect(Self.diagnosis(code).rule == "read-only-write")
    let jump = CrashRecord.sampleAArch64(code: 2, address: 0x5000_0000, pc: 0x5000_0000, esr: 0x8200_000f)
    #expect(Self.diagnosis(jump).rule == "jump-to-data")
    let facts = CrashFacts(record: code, pid: 99)
    #expect(Evidence.access.text(facts) == "syndrome 0x9200004f (write to)")
  }

  @Test("a stack overflow near the top of the 48-bit address space is diagnosed as a stack overflow")
  func overflow() {
    let sp: UInt64 = 0xffff_ff80_0010
    let record = CrashRecord.sampleAArch64(
      address: sp - 16, sp: sp, esr: Self.write, words: [0xa9bf_7bfd], depth: 5_000)  // stp x29, x30, [sp, #-0x10]!
    #expect(Self.diagnosis(record).cause == "stack-overflow")
    #expect(CrashFacts(record: record, pid: 99).operand?.text == "[sp, #-0x10]")
  }

  @Test("on AArch64 an address is canonical if its bits 48 to 55 are equal; the top byte is ignored")
  func canonical() {
    let arm = Architecture.aarch64
    #expect(arm.isCanonical(0xffff_ffff_ffff) && !arm.isCanonical(0x1_0000_0000_0000))
    #expect(arm.isCanonical(0xab00_ffff_0000_0000) && !arm.isCanonical(0xab20_0000_0000_0000))
    #expect(arm.isCanonical(0xffff_0000_0000_0000) && arm.isCanonical(.max))
    #expect(Architecture.x86_64.isCanonical(0x7fff_ffff_ffff) && !Architecture.x86_64.isCanonical(0xffff_ffff_ffff))
    #expect(arm.untagged(0xab00_1234_5678_9abc) == 0x1234_5678_9abc)
    #expect(arm.unsigned(0x003a_aaaa_5678_9abc) == 0xaaaa_5678_9abc && arm.unsigned(.max) == .max)
    #expect(Architecture.x86_64.unsigned(.max) == .max && Architecture.x86_64.untagged(0xab << 56) == 0xab << 56)
    for bit in 0..<64 as Range<UInt64> {
      let value: UInt64 = 1 << bit
      #expect(arm.isCanonical(value) == (bit < 48 || bit > 55), "bit \(bit)")
      #expect(Architecture.x86_64.isCanonical(value) == (bit < 47), "bit \(bit)")
    }
  }

  @Test("the operand explains an access to a non-canonical address, even if qemu reports the address 0")
  func nonCanonical() {
    let bad: UInt64 = 0x0041_4141_4141_4141
    // The kernel reports the address without its top byte.
    for (pointer, address) in [(bad, bad + 0x18), (0xaa41_4141_4141_4141, bad + 0x18), (bad, 0)] {
      let record = CrashRecord.sampleAArch64(
        address: address, esr: Self.read, registers: [0: pointer], words: [Self.load])
      let diagnosis = Self.diagnosis(record)
      #expect(diagnosis.rule == "non-canonical-operand")
      #expect(diagnosis.evidence?.contains("([x0, #0x18])") == true)
    }
    // In this record without an instruction, only the address shows the cause.
    #expect(Self.diagnosis(.sampleAArch64(address: bad)).rule == "non-canonical")
    // A jump to a non-canonical address has the diagnosis of a bad jump.
    #expect(Self.diagnosis(.sampleAArch64(address: bad, pc: bad, esr: Self.fetch)).rule == "jump-to-unmapped")
    // A pointer whose top byte is not 0 is canonical.
    let tagged = CrashRecord.sampleAArch64(
      address: 0x5000_0018, esr: Self.read, registers: [0: 0xaa00_0000_5000_0000], words: [Self.load])
    #expect(Self.diagnosis(tagged).rule == "wild-pointer")
    #expect(CrashFacts(record: tagged, pid: 99).operand?.text == "[x0, #0x18]")
  }

  @Test("a fault through the poison value in a field of a freed object names the class")
  func poison() throws {
    var ring = TestRing(architecture: 2)
    ring.addClass(0, "App.Session", admitted: 1)
    let poison = 0xEFED << 48 | UInt64(5 << 11) << 16 | 0x8003
    let address = Architecture.aarch64.untagged(poison + 0x18)
    var facts = CrashFacts(
      record: .sampleAArch64(address: address, esr: Self.read, registers: [0: poison], words: [Self.load]), pid: 99)
    facts.protectedClasses = try ring.contents().protectedClasses
    let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
    #expect(diagnosis.rule == "dangling-poison" && diagnosis.sentence.contains("a freed App.Session was used"))
    #expect(diagnosis.evidence?.contains("x0 has the mark of record") == true)
  }

  @Test("a null that the code loaded from a freed block is a use-after-free")
  func field() {
    let (block, key) = (0xaaaa_5576_4a20 as UInt64, 0x8dd2_38a1_0f3c_5b77 as UInt64)
    let words: [UInt64] = [0x41, 0xaaaa_5576_3210 ^ (block >> 12), key, 7, 0]
    let record = CrashRecord.sampleAArch64(address: 0x18, esr: Self.read, registers: [19: block], words: [Self.load])
    var facts = CrashFacts(
      record: record, pid: 99,
      words: [
        MemoryWords.Piece(
          start: block - 8, bytes: words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
        )
      ], heap: HeapFacts(key: key, range: 0xaaaa_5576_0000..<0xaaaa_5580_0000))
    facts.codeBefore = [0x60, 0x0e, 0x40, 0xf9]  // ldr x0, [x19, #0x18]
    let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
    #expect(diagnosis.rule == "dangling-field-null")
    #expect(diagnosis.evidence?.hasPrefix("x0 of the faulting [x0, #0x18] is null, loaded from 0xaaaa55764a38") == true)
  }

  @Test("a call through a freed block is a use-after-free, even if pc lacks the top byte of the target")
  func freedTarget() {
    let (block, key) = (0xaaaa_5576_4a20 as UInt64, 0x8d52_38a1_0f3c_5b77 as UInt64)
    // The last word of the block is the second word of an empty string.
    let emptyString = 0xe000_0000_0000_0000 as UInt64
    let words: [UInt64] = [0x21, 0xaaaa_5576_3210 ^ (block >> 12), key, emptyString, 0x21]
    let memory = MemoryWords.Piece(
      start: block - 8, bytes: words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    let untagged = Architecture.aarch64.untagged(key)
    func rule(_ signal: Int32, esr: UInt64, target: UInt64? = nil, _ registers: [Int: UInt64]) -> String {
      let target = target ?? untagged
      let record = CrashRecord.sampleAArch64(
        signal: signal, address: target, pc: target, esr: esr, registers: registers, words: [])
      let facts = CrashFacts(
        record: record, pid: 99, words: [memory], heap: HeapFacts(key: key, range: 0xaaaa_5576_0000..<0xaaaa_5580_0000))
      return DiagnosisRule.diagnose(facts, at: nil).rule
    }
    // blr x1, after ldr x1, [x8, #8]
    #expect(rule(SIGSEGV, esr: Self.fetch, [1: key, 8: block]) == "dangling-call")
    #expect(rule(SIGSEGV, esr: Self.fetch, [1: key]) == "dangling-remains")
    #expect(rule(SIGBUS, esr: 0x8a00_0000, [1: key, 8: block]) == "dangling-call")
    // No register contains the target of the call.
    #expect(rule(SIGSEGV, esr: Self.fetch, [8: block]) == "jump-to-unmapped")
    #expect(rule(SIGBUS, esr: 0x8a00_0000, [8: block]) == "misaligned-access")
    // A target of 0 is a null pointer, even if a register has a value with a top byte and the same lower bytes.
    #expect(rule(SIGSEGV, esr: Self.fetch, target: 0, [1: emptyString, 20: block]) == "null-call")
  }

  @Test("a jump to a misaligned address is no misaligned access to data")
  func misalignedTarget() {
    let jump = CrashRecord.sampleAArch64(
      signal: SIGBUS, address: 0x5000_0002, pc: 0x5000_0002, esr: 0x8a00_0000, words: [])
    #expect(Self.diagnosis(jump).sentence == "Jump to a misaligned address.")
    let access = CrashRecord.sampleAArch64(signal: SIGBUS, address: 0x5000_0002, esr: 0x9200_0021, words: [Self.load])
    #expect(Self.diagnosis(access).sentence == "Misaligned access.")
  }

  @Test("the diagnosis finds a pointer with one wrong bit in any of the 31 registers")
  func bitFlip() {
    let good: UInt64 = 0x10_100
    let record = CrashRecord.sampleAArch64(
      address: (good ^ 1 << 40) + 0x18, esr: Self.read, registers: [0: good ^ 1 << 40, 28: good], words: [Self.load])
    let facts = CrashFacts(record: record, pid: 99, images: RingContents.sample([]).images)
    #expect(facts.bitFlip == BitFlip(register: 0, other: 28, bit: 40, value: good ^ 1 << 40))
  }

  @Test("a signed return address is assigned to the image that contains the address without its signature")
  func signature() {
    let facts = CrashFacts(record: .sampleAArch64(), pid: 99, images: RingContents.sample([]).images)
    #expect(facts.place(of: 0x0034_0000_0001_0020) == "shop+0x20" && facts.place(of: 0x10020) == "shop+0x20")
  }

  @Test("the registers of a fault include its syndrome and its address")
  func registers() throws {
    let record = CrashRecord.sampleAArch64(
      address: 0x18, esr: Self.write, words: [Self.store], frames: [.at(0x10010, exact: true)])
    let registers = try #require(RingContents.sample([record]).report()).threads[0].registers
    #expect(registers["esr"] == 0x9200_0046 && registers["far"] == 0x18 && registers.count == 36)
  }

  @Test("a record with too few or too many registers, and any instruction, is diagnosed without a trap")
  func hostile() {
    var generator = SystemRandomNumberGenerator()
    for count in [0, 1, 16, 17, 31, 32, 33, 34] {
      for architecture in Architecture.allCases {
        for _ in 0..<20 {
          var record = CrashRecord.sampleAArch64(
            signal: [SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGABRT].randomElement(using: &generator) ?? SIGSEGV,
            code: [-6, 0, 1, 2, 128].randomElement(using: &generator) ?? 1,
            address: .random(in: 0 ... .max, using: &generator), esr: .random(in: 0...0xffff_ffff, using: &generator),
            words: (0..<4).map { _ in .random(in: 0 ... .max, using: &generator) },
            frames: [.at(0x10010, exact: true), .at(0x10020, exact: true)], senderPid: 99,
            stack: (0..<1_300).map { _ in .random(in: 0...255, using: &generator) })
          record.architecture = architecture
          record.registers = (0..<count).map { _ in .random(in: 0 ... .max, using: &generator) }
          let contents = RingContents.sample([record])
          #expect(contents.report()?.diagnosis.sentence.isEmpty == false)
          #expect(UnwindQuestion(contents).map { $0.records.count == 1 } ?? (count != architecture.registerCount))
        }
      }
    }
  }
}

/// Tests signals that a handler of a program on AArch64 has re-raised.
@Suite("Signals that the program's handler re-raises on AArch64")
struct AArch64FirstFaultTests {
  /// Returns a stack with some words of the handler's frame, followed by the kernel's signal frame.
  private static func stack(
    signal: Int32, code: Int32, address: UInt64, pc: UInt64, sp: UInt64, esr: UInt64, hasInformation: Bool = true
  ) -> [UInt8] {
    var words = [UInt64](repeating: 0x11, count: 6)
    var information = [UInt64](repeating: 0, count: 16)
    if hasInformation {
      information[0] = UInt64(UInt32(bitPattern: signal))
      (information[1], information[2]) = (UInt64(UInt32(bitPattern: code)), address)
    }
    var context = [UInt64](repeating: 0, count: 22 + 1)  // the ucontext up to and including the fault address
    context[22] = address
    var general = [UInt64](repeating: 0x77, count: 31)
    general[0] = 0
    words += information + context + general + [sp, pc, 0x6000_0000, 0]
    // The records of the signal frame: the vector registers, the exception syndrome, and the end.
    words += [528 << 32 | 0x4650_8001] + [UInt64](repeating: 0, count: 65)
    words += [16 << 32 | 0x4553_5201, esr, 0, 0]
    return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
  }

  private static let symbols = SampleSymbols(chains: [
    0x10: [SourceFrame(mangled: "raise")], 0x1f: [SourceFrame(mangled: "on", file: "/src/chain.c", line: 8)],
    0x30: [SourceFrame(mangled: "null_write", file: "/src/chain.c", line: 10)],
  ])

  private static func record(
    _ signal: Int32, code: Int32, address: UInt64, esr: UInt64, hasInformation: Bool = true
  ) -> CrashRecord {
    .sampleAArch64(
      signal: signal, code: -6,
      frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x20040), .at(0x10030, exact: true), .at(0x10041)],
      senderPid: 99, depth: 4,
      stack: stack(
        signal: signal, code: code, address: address, pc: 0x10030, sp: 0xffff_e000_0900, esr: esr,
        hasInformation: hasInformation))
  }

  @Test("the report shows the first fault, with and without a siginfo", arguments: [true, false])
  func segv(hasInformation: Bool) throws {
    let report = try #require(
      RingContents.sample([
        Self.record(SIGSEGV, code: 1, address: 8, esr: 0x9200_0046, hasInformation: hasInformation)
      ]).report(Self.symbols))
    #expect(report.diagnosis.sentence == "Null pointer: write to offset 8 of null in null_write (chain.c:10).")
    #expect(report.signal.codeName == "SEGV_MAPERR" && report.signal.address == 8 && report.signal.sender == nil)
    #expect(report.threads[0].registers["sp"] == 0xffff_e000_0900 && report.threads[0].registers["x1"] == 0x77)
    #expect(report.raisedAgain?.function == "on" && report.raisedAgain?.line == 8)
  }

  @Test("a re-raised trap is diagnosed as a trap, and an inconsistent signal frame is ignored")
  func others() throws {
    let trap = Self.record(SIGTRAP, code: 1, address: 0x10030, esr: 0xf200_0001)
    let report = try #require(RingContents.sample([trap]).report(Self.symbols))
    #expect(report.diagnosis.rule == "trap-unseen" && report.signal.codeName == "TRAP_BRKPT")
    var sent = Self.record(SIGSEGV, code: 0, address: 8, esr: 0x9200_0046)
    #expect(FirstFault(sent, pid: 99) == nil)
    sent = Self.record(SIGSEGV, code: 1, address: 8, esr: 0x9200_0046)
    sent.frames[3].pc = 0x10034
    #expect(FirstFault(sent, pid: 99) == nil)
    // The analysis must not trap if the stack is cut after any word, or if any of its bytes is changed.
    let whole = sent.stack
    sent.frames[3].pc = 0x10030
    for count in stride(from: 0, to: whole.count, by: 8) {
      sent.stack = Array(whole.prefix(count))
      _ = FirstFault(sent, pid: 99)
    }
    for index in whole.indices {
      sent.stack = whole
      sent.stack[index] ^= 0xff
      _ = FirstFault(sent, pid: 99)
    }
  }

  @Test("a signal re-raised after the handler's return is the fault of the current instruction")
  func pending() throws {
    func rule(_ signal: Int32, esr: UInt64, fault: UInt64, x0: UInt64, _ words: [UInt32]) throws -> String {
      var record = CrashRecord.sampleAArch64(
        signal: signal, code: -6, esr: esr, registers: [0: x0], words: words, frames: [.at(0x10030, exact: true)],
        senderPid: 99)
      record.faultAddress = fault
      return try #require(RingContents.sample([record]).report(Self.symbols)).diagnosis.rule
    }
    let store: UInt32 = 0xf900_0c00  // str x0, [x0, #0x18]
    #expect(try rule(SIGSEGV, esr: 0x9200_0046, fault: 0x18, x0: 0, [store]) == "null-pointer-offset")
    #expect(try rule(SIGSEGV, esr: 0, fault: 0, x0: 0, [store]) == "null-pointer-offset")
    #expect(try rule(SIGSEGV, esr: 0, fault: 0, x0: 0x0041_0000_0000_0000, [store]) == "non-canonical-operand")
    #expect(try rule(SIGTRAP, esr: 0, fault: 0, x0: 0, [0xd420_0020]) == "trap")
    // Here the syndrome belongs to an earlier fault: the current instruction accesses another address.
    #expect(try rule(SIGSEGV, esr: 0x9200_0046, fault: 0x18, x0: 0x9_0000, [store]) == "raised-signal")
    #expect(try rule(SIGTRAP, esr: 0, fault: 0, x0: 0, [store]) == "raised-signal")
  }

  @Test("a jump to memory without code is a bad fetch, even if the address is misaligned or there is no syndrome")
  func badFetch() {
    func isBad(_ syndrome: UInt64, pc: UInt64, fault: UInt64) -> Bool {
      var record = CrashRecord.sampleAArch64(pc: pc, esr: syndrome)
      record.faultAddress = fault
      return record.showsBadFetch
    }
    #expect(isBad(0x8200_0006, pc: 0x5000, fault: 0x5000) && !isBad(0x8200_0006, pc: 0x5000, fault: 0x6000))
    #expect(isBad(0x8a00_0000, pc: 0x10012, fault: 0) && !isBad(0x8a00_0000, pc: 0x10010, fault: 0))
    #expect(isBad(0, pc: 0x5000, fault: 0x5000) && !isBad(0, pc: 0x10010, fault: 0x5000))
    #expect(!isBad(0x9200_0006, pc: 0x5000, fault: 0x5000))
  }

  @Test("each fault status of an AArch64 abort has its signal and code")
  func statuses() {
    func told(_ syndrome: UInt64, _ expected: Int32) -> [UInt64]? {
      Exception_aarch64(syndrome: syndrome, address: 0x7000).signal(pc: 0x10, expecting: expected).map {
        [UInt64(UInt32(bitPattern: $0.signal)), UInt64(UInt32(bitPattern: $0.code)), $0.address]
      }
    }
    let (segv, bus, trap, ill) = (UInt64(SIGSEGV), UInt64(SIGBUS), UInt64(SIGTRAP), UInt64(SIGILL))
    #expect(told(0x9200_0007, SIGSEGV) == [segv, 1, 0x7000] && told(0x9200_004f, SIGSEGV) == [segv, 2, 0x7000])
    #expect(told(0x9200_0021, SIGBUS) == [bus, 1, 0x7000] && told(0x9200_0007, SIGBUS) == [bus, 2, 0x7000])
    #expect(told(0x8a00_0000, SIGBUS) == [bus, 1, 0x10] && told(0x9a00_0000, SIGABRT) == [bus, 1, 0x7000])
    #expect(told(0xf200_0001, SIGTRAP) == [trap, 1, 0x10] && told(0x0200_0000, SIGILL) == [ill, 1, 0x10])
    #expect(told(0, SIGSEGV) == nil && told(0x9200_0007, SIGTRAP) == nil && told(0x5600_0000, SIGABRT) == nil)
  }
}
