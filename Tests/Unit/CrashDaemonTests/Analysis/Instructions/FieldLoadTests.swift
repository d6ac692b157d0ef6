import CrashReport
@testable import CrashRing
import CrashSymbols
import TestKit
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  /// Tests faults through a bad pointer that the code before the fault loaded from freed memory.
  @Suite("The diagnosis of fields of freed blocks")
  struct FieldLoadTests {
    private static let (block, key) = (0x5555_5576_4a20 as UInt64, 0x8dd2_38a1_0f3c_5b77 as UInt64)
    private static let wild: UInt64 = 0x1234_5678_9000
    private static let rax = 0, rbx = 3, rdi = 5, rbp = 6

    /// A fault, with the code before it, which can have loaded the bad operand from a freed block.
    ///
    /// The block has a null at offset 24 and a wild pointer at offset 32. The faulting instruction is `mov rax,
    /// [rax+0x18]`.
    private struct Fault {
      var code: [UInt8]
      /// The words are glibc's chunk size before the block, the tcache link, the tcache key, and three fields of the
      /// object.
      var words: [UInt64] = [0x41, 0x5555_5576_3210 ^ (block >> 12), key, 7, 0, wild]
      var registers: [Int: UInt64] = [rax: 0, rbx: block]
      var address: UInt64 = 0x18
      var more: [MemoryWords.Piece] = []
      var scope = ""
      var instruction: [UInt8] = [0x48, 0x8b, 0x40, 0x18]

      var facts: CrashFacts {
        var record = CrashRecord.sample(address: address, errorCode: 4, instruction: instruction)
        for (number, value) in registers { record.registers[number] = value }
        var facts = CrashFacts(
          record: record, pid: 99,
          words: [MemoryWords.Piece(start: block - 8, bytes: FieldLoadTests.bytes(words))] + more,
          heap: HeapFacts(key: key, range: 0x5555_5576_0000..<0x5555_5580_0000))
        facts.codeBefore = code
        facts.expectedClasses = facts.expectedClasses(in: ScopeDescription(Array(scope.utf8)))
        return facts
      }

      var diagnosis: CrashReport.Diagnosis { DiagnosisRule.diagnose(facts, at: nil) }
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] {
      words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }

    // The code is a call, and then the load. Only the load is evidence, because the search for it stops at a call.
    private static let loadFromRbx: [UInt8] = [0xe8, 1, 2, 3, 4, 0x48, 0x8b, 0x43, 0x18]  // mov rax, [rbx+0x18]

    @Test("S13: a null that the code loaded from a freed block is a use-after-free, and is not certain")
    func null() {
      let diagnosis = Fault(code: Self.loadFromRbx).diagnosis
      #expect(diagnosis.cause == "dangling" && diagnosis.rule == "dangling-field-null" && diagnosis.confidence == 0.6)
      let reason =
        "rax of the faulting [rax + 0x18] is null, loaded from 0x555555764a38, byte 24 of a block that is freed (in a tcache)"
      #expect(diagnosis.sentence == "Use-after-free: a freed object was used." && diagnosis.evidence == reason)
      // If a variable contains the block's address, the report names the variable's class, provided that its objects
      // have the size of the block.
      let session = Fault(code: Self.loadFromRbx, scope: "V r 3 0 0 session\nT 0 Session\nS 56\n")
      #expect(session.diagnosis.evidence?.hasSuffix("; the code expects an instance of Session") == true)
      #expect(
        session.diagnosis.sentence == "Use-after-free: a freed object (the code expects a Session) was used.")
      #expect(session.facts.expectedClass(by: "dangling-field-null") == "Session")
      // A block in a fast bin does not contain the tcache key.
      let fastBin = Fault(
        code: Self.loadFromRbx, words: [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), 0x1_0000_0003, 7, 0, 0])
      #expect(fastBin.diagnosis.rule == "dangling-field-null")
      // A block with bin links is free only if the size field of the next block lacks the flag that marks its
      // predecessor as in use.
      for (next, rule) in [(0x50, "dangling-field-null"), (0x51, "null-pointer-offset")] as [(UInt64, String)] {
        let links: [UInt64] = [0x41, 0x5555_5576_3210, 0x5555_5576_3210 + 0x40, 7, 0, 0, 0, 0x40, next]
        let binned = Fault(
          code: Self.loadFromRbx, words: links,
          more: [MemoryWords.Piece(start: 0x5555_5576_3210 + 24, bytes: Self.bytes([Self.block - 16]))])
        #expect(binned.diagnosis.rule == rule)
      }
    }

    @Test("S13: a load that a jump may have skipped is not evidence for a freed block")
    func join() {
      let load: [UInt8] = [0x48, 0x8b, 0x43, 0x18]
      // A je or jmp can skip the load. Its distance is encoded in one byte or in four bytes.
      for jump in [[0x74, 4], [0xeb, 4], [0x0f, 0x84, 4, 0, 0, 0], [0xe9, 4, 0, 0, 0]] as [[UInt8]] {
        #expect(Fault(code: jump + load).diagnosis.rule == "null-pointer-offset")
        #expect(PrecedingLoads_x86_64.straight(jump + load, following: []) == [])
      }
      // A jne jumps back to the faulting instruction, so a loop can have reached it without the load. The distance is
      // encoded in one byte or in four bytes.
      for jump in [[0x75, 0xfa], [0x0f, 0x85, 0xf6, 0xff, 0xff, 0xff]] as [[UInt8]] {
        let fault = Fault(code: load, instruction: [0x48, 0x8b, 0x40, 0x18] + jump)
        #expect(fault.diagnosis.rule == "null-pointer-offset")
      }
      // The jne jumps back to the load, so the loop always runs the load.
      let loop = Fault(code: load, instruction: [0x48, 0x8b, 0x40, 0x18, 0x75, 0xf6])
      #expect(loop.diagnosis.rule == "dangling-field-null")
      // These jumps do not lead past the load to the fault: they lead to the load itself, or out of the recorded code.
      for jump in [[0x74, 0], [0x74, 0x40], [0x74, 0x80]] as [[UInt8]] {
        #expect(Fault(code: jump + load).diagnosis.rule == "dangling-field-null")
      }
    }

    @Test("S13: a wild pointer in a freed block is a use-after-free if the code loaded it from that block")
    func wildPointer() {
      var fault = Fault(code: [0x48, 0x8b, 0x43, 0x20], address: Self.wild + 0x18)  // mov rax, [rbx+0x20]
      fault.registers[Self.rax] = Self.wild
      #expect(fault.diagnosis.rule == "dangling-field" && fault.diagnosis.confidence == 0.8)
      fault.code = []
      #expect(fault.diagnosis.cause == "wild-pointer")
    }

    @Test("S13: the load's pointer to the block is found through moves, and through recorded words of memory")
    func chains() {
      let stack = MemoryWords.Piece(start: 0x7ffe_0000_1000, bytes: Self.bytes([Self.block]))
      let lost: [Int: UInt64] = [Self.rax: 0, Self.rbp: 0x7ffe_0000_1008]
      let codes: [(code: [UInt8], registers: [Int: UInt64])] = [
        // mov rax, [rbp-8]; mov rax, [rax+0x18]
        ([0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x40, 0x18], lost),
        // mov rax, rbx; mov rax, [rax+0x18]
        ([0x48, 0x89, 0xd8, 0x48, 0x8b, 0x40, 0x18], [Self.rax: 0, Self.rbx: Self.block]),
        // mov rdi, [rbx+0x18]; mov rcx, [rbp-8]; mov rax, rdi
        ([0x48, 0x8b, 0x7b, 0x18, 0x48, 0x8b, 0x4d, 0xf8, 0x48, 0x89, 0xf8], [Self.rax: 0, Self.rbx: Self.block]),
        // mov rax, [r12+0x18], whose base register needs one more byte
        ([0x49, 0x8b, 0x44, 0x24, 0x18], [Self.rax: 0, 12: Self.block]),
        // mov rax, [rbx+0x00000018]
        ([0x48, 0x8b, 0x83, 0x18, 0, 0, 0], [Self.rax: 0, Self.rbx: Self.block]),
      ]
      for (code, registers) in codes {
        let diagnosis = Fault(code: code, registers: registers, more: [stack]).diagnosis
        #expect(diagnosis.rule == "dangling-field-null", "\(code)")
      }
    }

    @Test("S13: a null that the code before the fault did not load from the freed block stays a null pointer")
    func controls() {
      let ways: [(why: String, code: [UInt8], words: [UInt64]?)] = [
        ("the code is unknown", [], nil),
        // mov rax, [rip+0x1000]
        ("loaded from a variable of the program", [0x48, 0x8b, 0x05, 0, 0x10, 0, 0], nil),
        // mov rax, [rdi+0x18], with null in rdi
        ("loaded by another register", [0x48, 0x8b, 0x47, 0x18], nil),
        // mov rax, [rbx+0x18]; call
        ("freed by a call after the load", Self.loadFromRbx + [0xe8, 1, 2, 3, 4], nil),
        // mov rax, [rbx+rax*8], with an index register
        ("loaded by an index", [0x48, 0x8b, 0x04, 0xc3], nil),
        // mov eax, [rbx+0x18], which loads half of a pointer
        ("no pointer was loaded", [0x8b, 0x43, 0x18], nil),
        // mov rax, [rbx+0x40], after the end of the block
        (
          "loaded from the next block", [0x48, 0x8b, 0x43, 0x40],
          [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), Self.key, 7, 0, 1, 0, 0, 0, 0]
        ),
        ("the block is in use", Self.loadFromRbx, [0x41, 0x5555_5576_3210, 0x3, 7, 0]),
        ("the block was allocated again", Self.loadFromRbx, [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), 0, 7, 0]),
        ("the object's deinit is running", Self.loadFromRbx, [0x41, 0x5555_5576_5000, 0x1_0000_0003, 7, 0]),
        (
          "the block is linked into a list, or was removed from one", Self.loadFromRbx,
          [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), 99, 7, 0]
        ),
        (
          "the field has another value now", Self.loadFromRbx,
          [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), Self.key, 7, 5]
        ),
      ]
      for (why, code, words) in ways {
        var fault = Fault(code: code)
        if let words { fault.words = words }
        #expect(fault.diagnosis.cause == "null-pointer-offset", "\(why)")
      }
    }

    @Test(
      "S13: a null that the code loaded from a quarantined object is a use-after-free, in any function")
    func held() {
      let object = Incident.Record(
        id: 1, address: Self.block, age_ns: 63_000, isExplorer: false, tid: 12, stack: [], bytes: 48, origin: [])
      let incident = Incident(
        key: 1, source: .quarantine, kind: 8, mode: .zero, subject: "shop.Session", count: 1, first_ns: 0, last_ns: 0,
        word: 0, amount: 0, record: object, useTid: 12, use: [], isExact: false)
      let say = { (code: [UInt8]) in
        var facts = Fault(code: code, words: [0x41, 0x4000, 3, 7, 0, 0]).facts
        facts.held = [FreedRecord(incident: incident, release: [])]
        #expect(facts.mayBeFieldOfFreed)
        return DiagnosisRule.diagnose(facts, at: nil)
      }
      let diagnosis = say(Self.loadFromRbx)
      #expect(diagnosis.rule == "dangling-held" && diagnosis.confidence == 0.8)
      #expect(
        diagnosis.sentence.contains("a freed shop.Session was used")
          && diagnosis.evidence?.contains("is null, loaded from") == true)
      #expect(say([]).cause == "null-pointer-offset")
      // The instruction je can skip the load.
      #expect(say([0x74, 4] + Self.loadFromRbx.suffix(4)).cause == "null-pointer-offset")
    }

    @Test("S13: if the faulting value is in a freed block, the code before the fault is read, even without line tables")
    func places() {
      let find = { (field: UInt64) in
        let words: [UInt64] = [0x41, 0x5555_5576_3210 ^ (Self.block >> 12), Self.key, 7, field]
        var record = CrashRecord.sample(
          address: 0x18, errorCode: 4, instruction: [0x48, 0x8b, 0x40, 0x18], frames: [.at(0x10010, exact: true)],
          stackStart: Self.block - 8, stack: Self.bytes(words))
        record.registers[Self.rbx] = Self.block
        var contents = RingContents.sample([record])
        contents.memory.heapKey = Self.key
        let facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil)
        return ReportBuilder(contents, process: facts, symbols: SampleSymbols())
      }
      #expect(find(0).placesToDescribe.map(\.hasScope) == [true])
      #expect(find(5).placesToDescribe.isEmpty)
      // An empty `codeBefore` means that the file of the image was deleted after the first analysis.
      var builder = find(0)
      func rule() -> String? { builder.report(id: "ab")?.diagnosis.rule }
      builder.codeBefore = Self.loadFromRbx
      builder.earlierDiagnosis = builder.report(id: "ab")?.diagnosis
      #expect(rule() == "dangling-field-null")
      builder.codeBefore = []
      #expect(rule() == "dangling-field-null")
      builder.codeBefore = [0x90]
      #expect(rule() == "null-pointer-offset")
    }

    @Test("random bytes before a fault are decoded in bounded time without a trap")
    func anyBytes() {
      var generator = SystemRandomNumberGenerator()
      for _ in 0..<2_000 {
        let code = (0..<ScopeDescription.codeBytes).map { _ in
          [0x48, 0x4d, 0x8b, 0x89, 0xc0, 0x43, 0x24].randomElement(using: &generator) ?? 0 as UInt8
        }
        let loads = PrecedingLoads(code, Array(repeating: 8, count: 17), MemoryWords([]), .x86_64)
        for register in 0..<17 { _ = loads.origin(of: register) }
        for count in 0...code.count {
          if let (move, rest) = PrecedingLoads_x86_64.last(of: code.prefix(count)) {
            #expect(rest.count < count && (0..<16).contains(move.destination) && (0..<16).contains(move.source))
          }
        }
      }
    }
  }
#endif
