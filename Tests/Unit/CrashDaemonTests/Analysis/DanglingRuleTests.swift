import CrashReport
@testable import CrashRing
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  /// Tests the use-after-free rules with states of freed heap blocks that were measured in real programs.
  ///
  /// tcache, fast bins and bins are glibc's lists of freed blocks; the tcache key is the second word of a block in a
  /// tcache. A freed block is evidence only if the fault depends on it.
  @Suite("The diagnosis of freed memory")
  struct DanglingRuleTests {
    static let heap = HeapFacts(key: 0x8dd2_38a1_0f3c_5b77, range: 0x5555_5576_0000..<0x5555_5580_0000)
    static let block: UInt64 = 0x5555_5576_4a20
    private static let key: UInt64 = 0x8dd2_38a1_0f3c_5b77
    private static let mangled: UInt64 = 0x5555_5576_3210 ^ (block >> 12)
    private static let rax = 0, rsi = 4, rdi = 5, r13 = 13

    struct Fault: Sendable {
      var words: [UInt64]
      /// The values of the registers, by DWARF register number.
      var registers: [Int: UInt64]
      var instruction: [UInt8] = [0xff, 0x50, 0x38]
      var code: Int32 = 1
      var address: UInt64 = 0
      var pc: UInt64 = 0x10010
      var more: [MemoryWords.Piece] = []
    }

    private static func facts(
      _ fault: Fault, heap: HeapFacts = Self.heap, images: [RingContents.Image] = [swift]
    ) -> CrashFacts {
      var record = CrashRecord.sample(
        code: fault.code, address: fault.address, pc: fault.pc, errorCode: fault.pc == fault.address ? 20 : 4,
        instruction: fault.instruction)
      for (number, value) in fault.registers { record.registers[number] = value }
      let piece = MemoryWords.Piece(start: block, bytes: bytes(fault.words))
      return CrashFacts(record: record, pid: 99, images: images, words: [piece] + fault.more, heap: heap)
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] {
      words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }

    private static func diagnosis(
      _ fault: Fault, heap: HeapFacts = Self.heap, images: [RingContents.Image] = [swift]
    ) -> CrashReport.Diagnosis {
      DiagnosisRule.diagnose(facts(fault, heap: heap, images: images), at: nil)
    }

    @Test("S10: the report of a use-after-free names the class that the code expects if the block has its size")
    func expectedClass() {
      let say = { (size: UInt64, scope: String) in
        let fault = Fault(
          words: [Self.mangled, Self.key, 7], registers: [Self.rax: Self.mangled, Self.r13: Self.block],
          address: Self.mangled + 0x38,
          more: [MemoryWords.Piece(start: Self.block - 8, bytes: Self.bytes([size]))])
        var facts = Self.facts(fault)
        facts.expectedClasses = facts.expectedClasses(in: ScopeDescription(Array(scope.utf8)))
        let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
        #expect(diagnosis.rule == "dangling-operand")
        return diagnosis.evidence ?? ""
      }
      let session = "V r 13 0 0 session\nT 0 Session\nS 56\n"
      #expect(say(0x41, session).hasSuffix("is its first word; the code expects an instance of Session"))
      #expect(say(0x41, "C 56 Session\n").hasSuffix("; the code names Session"))
      // The report names no class if the block does not have the size of an object of the class, or if several classes
      // have this size.
      for text in [say(0x81, session), say(0x41, "C 56 Session\nC 50 Order\n")] { #expect(!text.contains("the code")) }
    }

    static let dangling: [(rule: String, fault: Fault)] = [
      // A virtual call through a freed block in a tcache. The instruction is call [rax+0x38].
      (
        "dangling-operand",
        Fault(words: [mangled, key, 7], registers: [rax: mangled, r13: block], address: mangled + 0x38)
      ),
      // The last block of a tcache list. Its link is only its own address, shifted right by 12 bits.
      (
        "dangling-operand",
        Fault(
          words: [block >> 12, key], registers: [rax: block >> 12, r13: block], address: (block >> 12) + 0x38)
      ),
      // The program releases a freed block. The instruction is lock cmpxchg16b [rsi*8+0x10], and rsi contains the
      // tcache key, which is the second word of the block.
      (
        "dangling-operand",
        Fault(
          words: [mangled, key], registers: [rsi: key, rdi: block + 8],
          instruction: [0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0, 0, 0], code: 128)
      ),
      // As before, but two stray retains of the freed block have changed its tcache key.
      (
        "dangling-operand",
        Fault(
          words: [mangled, key &+ 2 &* HeapFacts.strongReference],
          registers: [rsi: key &+ 2 &* HeapFacts.strongReference, rdi: block + 8],
          instruction: [0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0, 0, 0], code: 128)
      ),
      // The program releases an object in a fast bin. The instruction is call [rax-0x10], which calls the destructor in
      // the class metadata.
      (
        "dangling-operand",
        Fault(
          words: [mangled, 0x1_0000_0003], registers: [rax: mangled, rdi: block], instruction: [0xff, 0x50, 0xf0],
          address: mangled - 0x10)
      ),
      // A call of a callback that was in a freed block. The instruction is call [rdi+8], which loads the tcache key
      // instead of an address.
      (
        "dangling-call",
        Fault(words: [mangled, key], registers: [rdi: block], instruction: [0xff, 0x57, 0x08], code: 128)
      ),
      // A call through the block's first word. This word is a valid address, so the processor faults only at the target
      // of the call.
      (
        "dangling-call",
        Fault(words: [mangled, key], registers: [rdi: block], instruction: [], address: mangled, pc: mangled)
      ),
      // A method call. The program loaded the method's address from the memory to which the block's first word points.
      // By chance, this word is a valid address.
      (
        "dangling-call",
        Fault(
          words: [mangled, key], registers: [rax: mangled, r13: block], instruction: [], address: 0x7_1234_5678,
          pc: 0x7_1234_5678, more: [MemoryWords.Piece(start: mangled, bytes: bytes([1, 0x7_1234_5678]))])
      ),
      // No register contains a pointer to the block; its second word, the tcache key, is still in rsi.
      (
        "dangling-remains",
        Fault(
          words: [], registers: [rsi: key], instruction: [0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0, 0, 0], code: 128)
      ),
      // The fault is in malloc. malloc follows a list pointer that a stray release of the block has changed.
      (
        "dangling-remains",
        Fault(
          words: [], registers: [rax: block - HeapFacts.strongReference], instruction: [0x48, 0x8b, 0x40, 0x10],
          address: block - HeapFacts.strongReference + 0x10)
      ),
      // A freed C or C++ object in a fast bin still has its second word, because glibc writes only the first word.
      (
        "dangling-operand",
        Fault(words: [mangled, 0x7777_0001], registers: [rax: mangled, rdi: block], address: mangled + 0x38)
      ),
      // A virtual call through the block's first word, which points into the malloc arena. The word that the call loads
      // from the arena is not an address, and is not in the record.
      (
        "dangling-call",
        Fault(
          words: [mangled, 0x1_0000_0003], registers: [rax: mangled, r13: block],
          instruction: [0xff, 0x90, 0xd0, 0, 0, 0], code: 128)
      ),
      // A virtual call through the first word of the block. The word that the call loads as the method's address is a
      // small number.
      (
        "dangling-call",
        Fault(
          words: [mangled, key], registers: [rax: mangled, rdi: block], instruction: [], address: 0x571, pc: 0x571,
          more: [MemoryWords.Piece(start: mangled, bytes: bytes([1, 0x571]))])
      ),
      // Three cases without a pointer to the block, only with its first word. In the first two, the fault address comes
      // from this word; the block has a successor in its list, or is the last one. In the third case, the word is the
      // target of a call.
      (
        "dangling-remains",
        Fault(words: [], registers: [rax: mangled], instruction: [0x48, 0x8b, 0x40, 0x10], address: mangled + 0x10)
      ),
      (
        "dangling-remains",
        Fault(
          words: [], registers: [rax: block >> 12], instruction: [0x48, 0x8b, 0x40, 0x10],
          address: (block >> 12) + 0x10)
      ),
      ("dangling-remains", Fault(words: [], registers: [:], instruction: [], address: mangled, pc: mangled)),
      // A copy of a Swift string whose storage pointer is the tcache key in the block. The characters begin 32 bytes
      // after the storage pointer. The instruction is vmovdqu ymm0, [rsi].
      (
        "dangling-remains",
        Fault(words: [], registers: [rsi: key + 32], instruction: [0xc5, 0xfe, 0x6f, 0x06], code: 128)
      ),
    ]

    @Test("a fault that depends on a freed block is a use-after-free, but never certain", arguments: dangling.indices)
    func found(index: Int) {
      let (rule, fault) = Self.dangling[index]
      let diagnosis = Self.diagnosis(fault)
      #expect(diagnosis.rule == rule, "\(diagnosis.sentence)")
      #expect(diagnosis.cause == "dangling")
      #expect(diagnosis.confidence < 1)
    }

    @Test("a use-after-free that the runtime's own message reports is certain")
    func stated() {
      for message in [
        "Fatal error: Attempted to read an unowned reference but object 0x55d0 was already deallocated",
        "Fatal error: Object 0x55d0 of class Cart deallocated with non-zero retain count 2. This reference, or a later",
      ] {
        let facts = CrashFacts(
          record: .sample(signal: SIGABRT, code: -6, message: message), pid: 99, runtimeFailure: nil)
        let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
        #expect(diagnosis.cause == "dangling" && diagnosis.confidence == 1)
      }
    }

    @Test("a register that points at a freed block is not evidence by itself")
    func untied() {
      let load: [UInt8] = [0x48, 0x8b, 0x40, 0x10]  // mov rax, [rax+0x10]
      let words = [Self.mangled, Self.key]
      let stale = [Self.rsi: Self.block]
      let faults = [
        // The operand is null, wild, and non-canonical.
        Fault(words: words, registers: stale, instruction: load, address: 0x10),
        Fault(
          words: words, registers: stale.merging([Self.rax: 0x1234_5670_0000]) { $1 }, instruction: load,
          address: 0x1234_5670_0010),
        Fault(
          words: words, registers: stale.merging([Self.rax: 0xdead_beef_0000_0000]) { $1 }, instruction: load, code: 128
        ),
        // A jump to unmapped memory, and a call of null.
        Fault(words: words, registers: stale, instruction: [], address: 0x1234_5670_0000, pc: 0x1234_5670_0000),
        Fault(words: words, registers: stale, instruction: [], address: 0, pc: 0),
      ]
      for fault in faults { #expect(Self.diagnosis(fault).cause != "dangling", "\(fault)") }
    }

    @Test("a method call on a freed object through an unknown target is a use-after-free in Swift only")
    func method() {
      // The instruction is call rcx.
      let fault = Fault(
        words: [Self.mangled, Self.key], registers: [Self.r13: Self.block, 2: 0xdead_beef_0000_0000],
        instruction: [0xff, 0xd1], code: 128)
      var facts = Self.facts(fault)
      facts.frames = [CrashReport.Frame(address: 0x10010, mangled: "shop_visit", trust: .context)]
      #expect(DiagnosisRule.diagnose(facts, at: nil).cause != "dangling")
      facts.frames = [CrashReport.Frame(address: 0x10010, mangled: "$s4shop5visityyF", trust: .context)]
      #expect(DiagnosisRule.diagnose(facts, at: nil).rule == "dangling-self")
    }

    @Test("an async method call on a freed object is a use-after-free in Swift only, and only for the object itself")
    func asyncMethod() {
      // The instructions are movsxd rcx, [rax]; add rcx, rax.
      var fault = Fault(
        words: [Self.mangled, Self.key], registers: [Self.r13: Self.block, Self.rax: 0x3d3d_3d3d_3d3d_3d3d],
        instruction: [0x48, 0x63, 0x08, 0x48, 0x01, 0xc1], code: 128)
      func rule(in function: String = "$s4shop5visityyYaF") -> String {
        var facts = Self.facts(fault)
        facts.frames = [CrashReport.Frame(address: 0x10010, mangled: function, trust: .context)]
        return DiagnosisRule.diagnose(facts, at: nil).rule
      }
      #expect(rule() == "dangling-self")
      #expect(rule(in: "shop_visit") == "non-canonical-operand")
      fault.registers[Self.r13] = Self.block + 0x40
      #expect(rule() == "non-canonical-operand")
      fault.registers[Self.r13] = Self.block
      // The code explains the null in another way, so the freed object is not the cause.
      (fault.registers[Self.rax], fault.code) = (0, 1)
      #expect(rule() == "null-pointer")
      // The second instruction adds to memory, and does not compute the address of a method.
      (fault.registers[Self.rax], fault.code) = (0x3d3d_3d3d_3d3d_3d3d, 128)
      fault.instruction = [0x48, 0x63, 0x08, 0x48, 0x01, 0x08]
      #expect(rule() == "non-canonical-operand")
    }

    @Test("a freed block in a bin is recognized after a stray retain or release")
    func binned() {
      let none: (UInt64) -> Bool = { _ in false }
      func state(_ first: UInt64, _ second: UInt64, _ heap: HeapFacts = Self.heap) -> BlockState? {
        BlockState.of(Self.block, (first, second), heap: heap, isArena: { $0 == 0x7f00_001d_4cc0 }, isMetadata: none)
      }
      let (neighbour, arena, reference) = (Self.block + 0x200, 0x7f00_001d_4cc0 as UInt64, HeapFacts.strongReference)
      #expect(state(neighbour, arena) == .binned(drift: 0) && state(arena, neighbour) == .binned(drift: 0))
      #expect(state(neighbour, arena &+ reference) == .binned(drift: 1))
      #expect(state(neighbour, neighbour &- 2 &* reference) == .binned(drift: -2))
      #expect(BlockState.binned(drift: -2).text == "freed (in a bin, and released 2 times since)")
      // A block whose first two words point into the heap can also be a node of a list in use. In a heap of more than 8
      // GiB, a pointer that a stray retain has changed can be a valid pointer.
      #expect(state(neighbour, neighbour) == nil && state(neighbour, neighbour &+ 9 &* reference) == nil)
      #expect(state(3, arena &+ reference) == nil && state(neighbour, arena &+ reference &+ 8) == nil)
      let large = HeapFacts(key: Self.key, range: 0x5555_5576_0000..<0x5559_5576_0000)
      #expect(state(neighbour, neighbour &+ reference, large) == nil)
    }

    @Test("a block whose neighbors in the bin do not link back to it is treated as in use again")
    func unlinked() {
      let (neighbour, arena, chunk) = (Self.block + 0x200, Self.libc.end - 0xe000, Self.block - 16)
      func cause(second: UInt64? = nil, back: UInt64?, forward: UInt64? = nil) -> CrashReport.Cause {
        // The instruction is mov rax, [rax+0x10].
        let wild: UInt64 = 0x1234_5670_0000
        var more: [MemoryWords.Piece] = []
        if let back { more.append(MemoryWords.Piece(start: neighbour + 24, bytes: Self.bytes([back]))) }
        if let forward { more.append(MemoryWords.Piece(start: arena + 16, bytes: Self.bytes([forward]))) }
        let fault = Fault(
          words: [neighbour, second ?? arena], registers: [Self.rax: wild, 1: neighbour, Self.rdi: Self.block],
          instruction: [0x48, 0x8b, 0x40, 0x10], address: wild + 0x10,
          more: more + [MemoryWords.Piece(start: neighbour - 8, bytes: Self.bytes([wild]))])
        return Self.diagnosis(fault, images: [Self.libc]).cause
      }
      #expect(cause(back: nil) == "dangling" && cause(back: chunk) == "dangling")
      #expect(cause(back: chunk + HeapFacts.strongReference) == "dangling", "it was retained since")
      #expect(cause(back: chunk, forward: chunk) == "dangling")
      #expect(cause(back: chunk + 0x40) == "wild-pointer")
      #expect(cause(back: chunk, forward: chunk + 0x40) == "wild-pointer")
      // The block is between two other free blocks in its bin. Only the link from its neighbor back to the block
      // distinguishes it from a node of the program's own list.
      #expect(cause(second: neighbour + 0x80, back: chunk) == "dangling")
      #expect(cause(second: neighbour + 0x80, back: nil) == "wild-pointer")
      #expect(cause(second: neighbour + 0x80, back: Self.block) == "wild-pointer")
      #expect(cause(second: 3, back: chunk) == "wild-pointer")
    }

    @Test("a load of value witnesses through a freed block's first word is a use-after-free")
    func genericCode() {
      // The instruction is mov rcx, [rcx+0x10], after mov rcx, [rdx-8].
      var fault = Fault(
        words: [Self.mangled, Self.key], registers: [2: 0xadad_adad_adad_adad, 1: Self.mangled, 3: Self.block],
        instruction: [0x48, 0x8b, 0x49, 0x10], code: 128,
        more: [MemoryWords.Piece(start: Self.mangled - 8, bytes: Self.bytes([0xadad_adad_adad_adad]))])
      let diagnosis = Self.diagnosis(fault)
      #expect(diagnosis.rule == "dangling-operand")
      #expect(diagnosis.evidence?.contains("was loaded through its first word") == true)
      // An access to a block that is in use is not a use-after-free.
      fault.words[1] = 0
      #expect(Self.diagnosis(fault).cause != "dangling")
      fault.words[1] = Self.key
      fault.more = [MemoryWords.Piece(start: Self.mangled, bytes: Self.bytes([0xadad_adad_adad_adad]))]
      #expect(Self.diagnosis(fault).cause != "dangling")
    }

    @Test("words after the end of a freed block are not treated as words of the block")
    func beside() {
      let target: UInt64 = 0x1234_5670_0000
      var words = [UInt64](repeating: 0, count: 16)
      words[0] = Self.mangled
      words[1] = Self.key
      // After the end of the block, there are the size of the next block, and a function pointer in the next block.
      words[7] = 0x41
      words[10] = target
      let size = MemoryWords.Piece(start: Self.block - 8, bytes: Self.bytes([0x41]))
      let fault = Fault(
        words: words, registers: [Self.rdi: Self.block], instruction: [], address: target, pc: target, more: [size])
      #expect(Self.diagnosis(fault).cause == "jump-to-unmapped")
      words[2] = target
      let own = Fault(
        words: words, registers: [Self.rdi: Self.block], instruction: [], address: target, pc: target, more: [size])
      #expect(Self.diagnosis(own).rule == "dangling-call")
    }

    @Test("a block that malloc allocated again, but that is not yet written, is not diagnosed as freed")
    func unwritten() {
      let fault = Fault(
        words: [Self.mangled, 0], registers: [Self.rax: Self.mangled, Self.rdi: Self.block],
        instruction: [0x48, 0x8b, 0x40, 0x10], address: Self.mangled + 0x10)
      #expect(Self.diagnosis(fault).cause == "wild-pointer")
    }

    @Test("a valid pointer into the heap, plus the offset of a field, is not treated as a link of a freed block")
    func pointers() {
      for offset in stride(from: 0 as UInt64, to: 0xa_0000, by: 0x1230) {
        #expect(!Self.heap.isLink(Self.heap.range.lowerBound + offset))
        #expect(!Self.heap.isLink(Self.heap.range.lowerBound + offset | 1 << 35))
      }
      #expect(Self.heap.isLink(Self.mangled) && Self.heap.isLink(Self.block >> 12))
      #expect(!HeapFacts().isLink(0) && !HeapFacts(range: 0 ..< .max).isLink(1))
    }

    @Test("live objects, objects with a side table and plain data are not diagnosed as freed blocks")
    func live() {
      let metadata: UInt64 = 0x5555_5555_8000
      let (none, any): ((UInt64) -> Bool, (UInt64) -> Bool) = ({ _ in false }, { _ in true })
      for second in [3, 0x2_0000_0003, 5, 0xc000_0ac6_16fd_2956, 0x8000_0004_ffff_ffff, 0, 1] as [UInt64] {
        #expect(
          BlockState.of(Self.block, (metadata, second), heap: Self.heap, isArena: none, isMetadata: any) == nil,
          "\(second)")
      }
      #expect(
        BlockState.of(Self.block, (metadata, 0x1_0000_0003), heap: Self.heap, isArena: none, isMetadata: any)
          == .deinitialized)
      #expect(
        BlockState.of(Self.block, (Self.mangled, 0x1_0000_0003), heap: Self.heap, isArena: none, isMetadata: none)
          == .fastBin)
      // The words after the pointer are two small integers, and not a reference count.
      #expect(
        BlockState.of(Self.block, (metadata, 0x1_0000_0001), heap: Self.heap, isArena: none, isMetadata: none) == nil)
    }

    private static let libc = RingContents.Image(
      index: 1, bias: 0x7f00_0000_0000, start: 0x7f00_0000_0000, end: 0x7f00_001e_2000, buildID: "cd",
      path: "/usr/lib/x86_64-linux-gnu/libc.so.6", isExecutable: false)

    /// The image of the Swift runtime, which shows that the program uses reference counts.
    private static let swift = RingContents.Image(
      index: 2, bias: 0x7e00_0000_0000, start: 0x7e00_0000_0000, end: 0x7e00_0080_0000, buildID: "ef",
      path: "/usr/lib/swift/linux/libswiftCore.so", isExecutable: true)

    @Test("a heap pointer that is off by a reference count is diagnosed as such only if the count is possible")
    func moved() {
      let moved = Self.block + 2 * HeapFacts.strongReference
      let fault = Fault(
        words: [], registers: [Self.rax: moved], instruction: [0x48, 0x8b, 0x40, 0x10], address: moved + 0x10)
      #expect(Self.diagnosis(fault).rule == "dangling-remains")
      #expect(Self.diagnosis(fault, images: [Self.libc]).cause == "wild-pointer")
      var facts = Self.facts(fault, images: [Self.libc])
      facts.frames = [CrashReport.Frame(address: 0x10010, mangled: "$s4shop5visityyF", trust: .context)]
      #expect(DiagnosisRule.diagnose(facts, at: nil).rule == "dangling-remains")
    }

    @Test("a block whose words only resemble a freed block is not diagnosed as use-after-free")
    func lookalikes() {
      let load: [UInt8] = [0x48, 0x8b, 0x40, 0x10]  // mov rax, [rax+0x10]
      let wild: UInt64 = 0x1234_5670_0000
      // The block is a node in use, whose words are a bad pointer to the next node, and two counters with the value 1.
      let node = Fault(
        words: [wild, 0x1_0000_0001], registers: [Self.rax: wild, Self.rdi: Self.block], instruction: load,
        address: wild + 0x10)
      #expect(Self.diagnosis(node).cause == "wild-pointer")
      // The first word could be the address of a class. The object would then be deinitialized, but the record does not
      // prove this.
      let object = Fault(
        words: [Self.block + 0x100, 0x1_0000_0003], registers: [Self.rax: Self.block + 0x100, Self.rdi: Self.block],
        instruction: load, address: Self.block + 0x110)
      #expect(Self.diagnosis(object).cause == "wild-pointer")
      // The block's words point to a glibc function and to a buffer. Therefore the block is a live object with a
      // callback, and not a free block in a bin.
      let function = Self.libc.start + 0x2_8000
      let owner = Fault(
        words: [function, Self.block + 0x100], registers: [Self.rax: Self.block + 0x100, Self.rdi: Self.block],
        instruction: load, address: Self.block + 0x110)
      #expect(Self.diagnosis(owner, images: [Self.libc]).cause == "wild-pointer")
      let binned = Fault(
        words: [Self.libc.end - 0xe000, Self.block + 0x100],
        registers: [Self.rax: Self.block + 0x100, Self.rdi: Self.block], instruction: load,
        address: Self.block + 0x110)
      #expect(Self.diagnosis(binned, images: [Self.libc]).cause == "dangling")
      // In a heap of more than 8 GiB, two valid pointers can be 2³³ bytes apart. One strong release changes a pointer
      // by the same amount.
      let large = HeapFacts(key: Self.key, range: 0x5555_5576_0000..<0x5559_5576_0000)
      let base: UInt64 = 0x5557_5576_0000
      let wildIndex = Fault(
        words: [], registers: [Self.rax: base, 2: 0x10_0000_0000], instruction: [0x48, 0x8b, 0x04, 0x08],
        address: base + 0x10_0000_0000)
      #expect(Self.diagnosis(wildIndex, heap: large).cause == "wild-pointer")
    }

    @Test("random faults near freed blocks are never certain, and are rarely diagnosed as use-after-free")
    func random() {
      var generator = SystemRandomNumberGenerator()
      var called = 0
      for _ in 0..<2_000 {
        var fault = Fault(
          words: [Self.mangled, Self.key, 9, 9], registers: [:], instruction: [0x48, 0x8b, 0x40, 0x10])
        for number in 0..<16 where number != 7 {
          // Fills the registers with stale pointers to the block, small numbers, or random values.
          let anything = UInt64.random(in: .min ... .max, using: &generator)
          fault.registers[number] =
            [Self.block, Self.block + 8, anything & 0xffff, anything, anything >> 17].randomElement(using: &generator)
        }
        let shift = [0, 17, 50].randomElement(using: &generator) ?? 0
        let base = UInt64.random(in: .min ... .max, using: &generator) >> UInt64(shift)
        fault.registers[Self.rax] = base
        let address = base &+ 0x10
        if Architecture.x86_64.isCanonical(address) { fault.address = address } else { fault.code = 128 }
        let diagnosis = Self.diagnosis(fault)
        if diagnosis.cause == "dangling" { called += 1 }
        #expect(diagnosis.cause != "dangling" || diagnosis.confidence < 1)
      }
      #expect(called <= 20)
    }

    @Test("no use-after-free is diagnosed if the block lacks the words that glibc writes into freed blocks")
    func withoutKey() {
      let fault = Fault(
        words: [Self.mangled, Self.key], registers: [Self.rsi: Self.key, Self.rdi: Self.block + 8],
        instruction: [0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0, 0, 0], code: 128)
      #expect(Self.diagnosis(fault, heap: HeapFacts()).cause == "non-canonical")
    }

    @Test("the use-after-free rules read hostile registers and words without a trap")
    func hostile() {
      var generator = SystemRandomNumberGenerator()
      for _ in 0..<5_000 {
        let ends: [UInt64] = [0, 1, .max, .max - 7, 1 << 63, (1 << 63) - 1, Self.block, Self.key]
        let word = { () -> UInt64 in ends.randomElement(using: &generator) ?? 0 }
        var fault = Fault(words: [word(), word()], registers: [:], instruction: [0xff, 0x50, 0x38])
        for number in 0..<17 { fault.registers[number] = word() }
        fault.code = [1, 2, 128].randomElement(using: &generator) ?? 1
        fault.address = word()
        fault.more = [MemoryWords.Piece(start: .max - 3, bytes: [1, 2, 3, 4, 5, 6, 7, 8, 9])]
        _ = DiagnosisRule.explain(Self.facts(fault, heap: HeapFacts(key: word(), range: 0 ..< .max)))
      }
    }
  }
#endif
