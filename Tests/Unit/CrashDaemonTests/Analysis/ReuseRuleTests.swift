import CrashReport
@testable import CrashRing
import CrashSymbols
import TestKit
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  /// Tests the rules for a heap block that should contain an object, but contains something else, because it was freed
  /// and allocated again.
  @Suite("Diagnosis of reused memory by the class that the code expects")
  struct ReuseRuleTests {
    private static let block: UInt64 = 0x7f12_3456_4a20
    private static let text: UInt64 = 0x2f76_312f_6970_612f
    private static let rax = 0, rdi = 5, r13 = 13

    /// A fault in a method call on an object of the class Session.
    ///
    /// An object of Session has 56 bytes, and an object of its subclass has 216 bytes.
    ///
    /// The memory of the object now contains text.
    private struct Fault {
      /// The word before the block, in which glibc stores the size of the block.
      ///
      /// `words` are the words of the block, and `next` is the size word after the block.
      var size: UInt64 = 0x41
      var words: [UInt64] = [text, text + 1, 3, 4, 5, 6, 7]
      var next: UInt64 = 0x31
      var registers: [Int: UInt64] = [rax: text, r13: block]
      var instruction: [UInt8] = [0xff, 0x50, 0x38]  // call [rax+0x38]
      var pc: UInt64 = 0x10010
      var heap: Range<UInt64> = 0..<0
      var code: Int32 = 128
      var address: UInt64 = 0
      var function = "$s4shop5visityyF"
      var image: String?
      var images: [RingContents.Image] = []
      var scope = "V r 13 0 0 session\nT 0 Session\nS 56\nU 216\n"
    }

    private static func diagnose(_ fault: Fault) -> CrashReport.Diagnosis {
      var record = CrashRecord.sample(
        code: fault.code, address: fault.address, pc: fault.pc, errorCode: fault.code == 128 ? 0 : 4,
        instruction: fault.instruction)
      for (number, value) in fault.registers { record.registers[number] = value }
      let bytes = ([fault.size] + fault.words + [fault.next]).flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
      }
      var facts = CrashFacts(
        record: record, pid: 99, images: fault.images,
        frames: [
          CrashReport.Frame(address: 0x10010, mangled: fault.function, image: fault.image, trust: .context)
        ],
        words: [MemoryWords.Piece(start: block - 8, bytes: bytes)],
        heap: HeapFacts(key: 0x8dd2_38a1_0f3c_5b77, range: fault.heap))
      facts.expectedClasses = facts.expectedClasses(in: ScopeDescription(Array(fault.scope.utf8)))
      return DiagnosisRule.diagnose(facts, at: nil)
    }

    @Test("a method call through a reused block of the expected object's size is a use-after-free, but not certain")
    func call() {
      let diagnosis = Self.diagnose(Fault())
      #expect(diagnosis.rule == "dangling-reuse" && diagnosis.cause == "dangling" && diagnosis.confidence == 0.7)
      let reason = "the code expects an instance of Session, and the block is as large as one"
      #expect(diagnosis.evidence?.contains(reason) == true)
      let block = "r13 points at 0x7f1234564a20, which is a block of the heap, not an object"
      #expect(diagnosis.evidence?.contains(block) == true)
      #expect(
        diagnosis.sentence
          == "Use-after-free: a freed object (the code expects a Session) was used after its memory was reused.")
      // The variable that points to the block can also be in memory.
      var inMemory = Fault(scope: "V m 5 -8 0 session\nT 0 Session\nS 56\n")
      inMemory.registers[Self.rdi] = Self.block + 0x28
      inMemory.words[4] = Self.block
      #expect(Self.diagnose(inMemory).rule == "dangling-reuse")
      // The first word of the block is a small number, so the fault address is near null.
      let number = Fault(
        words: [54_321, 60_000, 3, 4, 5, 6, 7], registers: [Self.rax: 54_321, Self.r13: Self.block], code: 1,
        address: 54_321 + 0x38)
      #expect(Self.diagnose(number).rule == "dangling-reuse")
      // The size word after the block marks the block as free, although it lacks the words that glibc writes into a
      // freed block.
      #expect(Self.diagnose(Fault(next: 0x30)).rule == "dangling-reuse")
      // The record contains only the beginning of this larger block.
      let derived = Self.diagnose(Fault(size: 0xe1))
      #expect(derived.rule == "dangling-reuse" && derived.evidence?.contains("derived") == true)
    }

    /// A scope (the description of the crashing code) without a variable, in which the function's code names the class.
    private static let named = "C 56 Session\nD 216\n"

    @Test("without a variable, a class that the function names is evidence with less confidence")
    func named() {
      let diagnosis = Self.diagnose(Fault(scope: Self.named))
      #expect(diagnosis.rule == "dangling-reuse-named" && diagnosis.cause == "dangling")
      #expect(diagnosis.confidence == 0.6)
      let reason = "the code names Session, and the block is as large as one"
      #expect(diagnosis.evidence?.contains(reason) == true)
      #expect(Self.diagnose(Fault(size: 0xe1, scope: Self.named)).rule == "dangling-reuse-named")
      #expect(Self.diagnose(Fault(scope: "C 24 Item\n" + Self.named)).evidence?.contains("names Session") == true)
      #expect(Self.diagnose(Fault(size: 0x91, scope: Self.named)).cause != "dangling")
      // The function names classes of many sizes. Almost any block has the size of one of them, so a match is not
      // evidence.
      let many = (1...3).map { "C \(56 + 64 * $0) Item\n" }.joined()
      #expect(Self.diagnose(Fault(scope: many + Self.named)).cause != "dangling")
      #expect(Self.diagnose(Fault(scope: "C 120 Item\n" + Self.named)).rule == "dangling-reuse-named")
      #expect(Self.diagnose(Fault(scope: String(repeating: Self.named, count: 9))).rule == "dangling-reuse-named")
      // If the scope has a variable, the expected class is that of the variable, and not one that the function names.
      let other = Fault(scope: "V r 13 0 0 item\nT 0 Item\nS 24\n" + Self.named)
      #expect(Self.diagnose(other).cause != "dangling")
    }

    @Test("the block must be exactly as large as malloc makes it for the object")
    func exactSize() {
      let found: [UInt64] = [0x41, 0xe1]
      for size in stride(from: 0x21 as UInt64, through: 0x141, by: 16) {
        // For the larger blocks, the recorded memory ends before the end of the block.
        let words = Array(Fault().words.prefix(min(7, Int(size / 8) - 1)))
        let fault = Fault(size: size, words: words, scope: Self.named)
        #expect((Self.diagnose(fault).cause == "dangling") == found.contains(size), "\(size)")
      }
    }

    @Test("calls in runtime functions, and loads of a method before its call, are also treated as uses of an object")
    func otherWays() {
      // The instruction is call [rax-0x10], with which a release calls the class's destructor.
      var release = Fault(instruction: [0xff, 0x50, 0xf0], function: "_swift_release_dealloc", scope: Self.named)
      release.registers = [Self.rax: Self.text, Self.rdi: Self.block]
      #expect(Self.diagnose(release).rule == "dangling-reuse-named")
      // The instruction is lock cmpxchg [rsi*8+0x10]: the runtime follows the text in rsi as if it were a pointer to a
      // side table.
      let exchange: [UInt8] = [0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0, 0, 0]
      var retain = Fault(instruction: exchange, function: "swift_retain", scope: Self.named)
      retain.registers = [4: Self.text + 1, Self.rdi: Self.block]
      #expect(Self.diagnose(retain).rule == "dangling-reuse-named")
      retain.registers[4] = Self.text + 2
      #expect(Self.diagnose(retain).cause != "dangling", "another word is in rsi")
      // The instruction is mov rbx, [rax+0xb8], which loads a method for a later call. The object of that call is in
      // rdi.
      let load: [UInt8] = [0x48, 0x8b, 0x98, 0xb8, 0, 0, 0, 0xe8, 0x8a, 4, 0, 0]
      let early = Fault(registers: [Self.rax: Self.text, Self.rdi: Self.block], instruction: load, scope: Self.named)
      #expect(Self.diagnose(early).rule == "dangling-reuse-named")
      // The instruction is mov rax, [rax+distance]. For a distance from 0 to 16, the block's first word can point to
      // something other than a class. At the distance -8, class metadata contains the pointer to its value witnesses.
      for (distance, isFound) in [
        (0, false), (8, false), (16, false), (24, true), (-8, true), (-16, false), (-24, false),
      ] {
        let member = Fault(
          registers: [Self.rax: Self.text, Self.rdi: Self.block],
          instruction: [0x48, 0x8b, 0x40, UInt8(truncatingIfNeeded: distance)], scope: Self.named)
        #expect((Self.diagnose(member).cause == "dangling") == isFound, "\(distance)")
      }
    }

    @Test("a word in a freed block is not evidence if the first word of the object in r13 leads there")
    func otherBlock() {
      // A link, which is the word with which glibc chains one freed block to the next one.
      let link: UInt64 = 0x5555_5576_3210 ^ (0x5555_5576_4a20 >> 12)
      var fault = Fault(registers: [Self.r13: Self.block], instruction: [], scope: "")
      (fault.heap, fault.code, fault.pc, fault.address) = (0x5555_5576_0000..<0x5555_5580_0000, 1, link, link)
      #expect(Self.diagnose(fault).rule == "dangling-remains")
      fault.words[0] = 0x5555_5576_1230
      #expect(Self.diagnose(fault).cause != "dangling")
      // In C code, r13 is not the register of a method's object, so the word is evidence.
      fault.function = "shop_visit"
      #expect(Self.diagnose(fault).rule == "dangling-remains")
    }

    @Test("a fault with another explanation, or without an expected object, is not diagnosed as a use-after-free")
    func others() {
      var faults: [(String, Fault)] = []
      func add(_ what: String, _ change: (inout Fault) -> Void) {
        var fault = Fault()
        change(&fault)
        faults.append((what, fault))
      }
      add("a block of another size: a wrong cast") { $0.size = 0x91 }
      add("no variable") { $0.scope = "" }
      add("a variable of an unknown type") { $0.scope = "V r 13 0 - session\n" }
      add("a class of unknown size") { $0.scope = "V r 13 0 0 session\nT 0 Session\n" }
      add("a variable with another address") { $0.scope = "V r 13 8 0 session\nT 0 Session\nS 56\n" }
      add("a variable in a register that does not exist") { $0.scope = "V r 400 0 0 session\nT 0 Session\nS 56\n" }
      add("a live object whose first word was overwritten") { $0.words[1] = 0x2_0000_0003 }
      add("an overrun of the previous block") { $0.size = Self.text }
      add("an overrun of this block") { $0.next = Self.text }
      for scope in [Fault().scope, Self.named] {
        add("the object is not in r13") {
          ($0.registers, $0.scope) = ([Self.rax: Self.text, Self.rdi: Self.block], scope)
        }
        add("r13 points into a block") { ($0.registers[Self.r13], $0.scope) = (Self.block + 8, scope) }
      }
      // The instruction is mov rax, [rcx+rax*8+0x20]. rax is an index, which the code loaded from a live struct.
      add("an index") {
        $0 = Fault(
          registers: [Self.rax: Self.text, 2: 0x6000, Self.rdi: Self.block],
          instruction: [0x48, 0x8b, 0x44, 0xc1, 0x20],
          scope: Self.named)
      }
      // The instruction is mov rax, [rax+0x18], and rax was loaded from the second word of a struct.
      add("a number used as a pointer") {
        $0 = Fault(
          registers: [Self.rax: Self.text + 1, Self.rdi: Self.block], instruction: [0x48, 0x8b, 0x40, 0x18],
          scope: Self.named)
      }
      // For these two functions, the diagnosis is not use-after-free: a C++ function with internal linkage (`_ZL`), and
      // a generic function of the Swift library.
      for (function, image) in [("_ZL4walkP4node", "/srv/shop"), ("$sSa6appendyyxnF", "/usr/lib/libswiftCore.so")] {
        add(function) {
          $0 = Fault(
            registers: [Self.rax: Self.text, Self.rdi: Self.block], instruction: [0x48, 0x8b, 0x40, 0x38],
            function: function, image: image, scope: Self.named)
        }
      }
      add("a call in a C function") { $0.function = "shop_visit" }
      add("a read: mov rax, [rax+0x10]") { $0.instruction = [0x48, 0x8b, 0x40, 0x10] }
      add("in the C runtime") {
        $0.function = "memcpy"
        $0.scope = Self.named
      }
      add("a class of an impossible size") { $0.scope = "C 18446744073709551615 Session\nD 0\n" }
      add("a class of size zero") {
        ($0.size, $0.words, $0.scope) = (0x21, [Self.text, 2, 3], "C 0 Session\nD 0\nD 15\n")
      }
      add("a first word that is a valid class") {
        $0.words[0] = 0x40_0100
        $0.images = [
          RingContents.Image(
            index: 0, bias: 0x40_0000, start: 0x40_0000, end: 0x50_0000, buildID: "ab", path: "/srv/shop",
            isExecutable: true)
        ]
        $0.registers[Self.rax] = 0x40_0100
        $0.code = 1
        $0.address = 0x40_0138
      }
      for (what, fault) in faults {
        #expect(Self.diagnose(fault).cause != "dangling", "\(what)")
      }
    }

    @Test("expected classes are also searched in callers of the runtime, variables only at the crash address")
    func places() {
      var record = CrashRecord.sample(
        code: 128, instruction: [0xff, 0x50, 0xf0],
        frames: [.at(0x10010, exact: true), .at(0x10021), .at(0x10031), .at(0x10041), .at(0x10051), .at(0x10061)],
        stackStart: Self.block - 8,
        stack: [0x41, Self.text, Self.text + 1, 3, 4, 5, 6, 7, 0x31].flatMap { word in
          (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        })
      (record.registers[Self.rax], record.registers[Self.rdi]) = (Self.text, Self.block)
      record.registers[Self.r13] = Self.block
      func places(of record: CrashRecord, first: String) -> [UInt64] {
        let symbols = SampleSymbols(chains: [
          0x10: [SourceFrame(mangled: first, file: "/src/a", line: 1)], 0x20: [SourceFrame(mangled: "shop_work")],
          0x30: [SourceFrame(mangled: "$s4shop3buyyyF")], 0x40: [SourceFrame(mangled: "$s4shop3payyyF")],
          0x50: [SourceFrame(mangled: "$s4shop4bookyyF")], 0x60: [SourceFrame(mangled: "$s4shop4workyyF")],
        ])
        let contents = RingContents.sample([record])
        let facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil)
        let found = ReportBuilder(contents, process: facts, symbols: symbols).placesToDescribe
        #expect(found.allSatisfy { $0.hasScope == ($0.linkAddress == 0x10) })
        return found.map(\.linkAddress)
      }
      // The runtime has line entries only if it was built with debug information.
      #expect(places(of: record, first: "_swift_release_dealloc") == [0x10, 0x30, 0x40])
      #expect(places(of: record, first: "$s4shop4sellyyF") == [0x10, 0x30, 0x40])
      #expect(places(of: record, first: "shop_visit").isEmpty)
      // The code at a frame that a scan of the stack found is not described, because the frame's address need not be a
      // return address.
      var scanned = record
      scanned.frames[3].trust = .scan
      #expect(places(of: scanned, first: "_swift_release_dealloc") == [0x10, 0x30])
      // For a null pointer, only the variables at the faulting instruction are read.
      var null = record
      (null.registers[Self.rax], null.code, null.address) = (0, 1, 0x30)
      #expect(places(of: null, first: "shop_visit") == [0x10])
    }

    @Test("a diagnosis made with the image survives the loss of the image, unless the image contradicts it")
    func earlier() {
      var record = CrashRecord.sample(
        code: 128, instruction: [0xff, 0x50, 0x38], frames: [.at(0x10010, exact: true)], stackStart: Self.block - 8,
        stack: ([0x41] + Fault().words + [0x31]).flatMap { word in
          (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
        })
      (record.registers[Self.rax], record.registers[Self.r13]) = (Self.text, Self.block)
      let symbols = SampleSymbols(chains: [0x10: [SourceFrame(mangled: "$s4shop5visityyF", file: "/src/a", line: 1)]])
      let contents = RingContents.sample([record])
      var builder = ReportBuilder(
        contents, process: ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil), symbols: symbols)
      func rule() -> String? { builder.report(id: "ab")?.diagnosis.rule }
      builder.scope = ScopeDescription(Array(Fault().scope.utf8))
      builder.earlierDiagnosis = builder.report(id: "ab")?.diagnosis
      #expect(builder.earlierDiagnosis?.rule == "dangling-reuse" && !builder.needsNamedClasses)
      builder.scope = nil
      #expect(rule() == "dangling-reuse" && builder.needsNamedClasses)
      // Without the scope, the diagnosis stays, whether the functions name the class Session or no class.
      let named = ScopeDescription(Array(Self.named.utf8)).namedClasses
      for classes in [named, []] {
        (builder.namedClasses, builder.hasAllClasses) = (classes, true)
        #expect(rule() == "dangling-reuse")
      }
      // With a scope that has no variable of the class, the image contradicts the first diagnosis.
      builder.scope = ScopeDescription([])
      #expect(rule() == "non-canonical-operand")
      builder.namedClasses = named
      #expect(rule() == "dangling-reuse-named")
      builder.earlierDiagnosis = builder.report(id: "ab")?.diagnosis
      (builder.namedClasses, builder.hasAllClasses) = ([], false)
      #expect(rule() == "dangling-reuse-named")
      builder.hasAllClasses = true
      #expect(rule() == "non-canonical-operand")
    }

    @Test("a hostile size of a class in an image does not trap")
    func sizes() {
      for bytes in [0, 1, 15, 16, 24, 25, 1 << 29, 1 << 30, UInt64.max, UInt64.max - 7] {
        let block = ExpectedClass(name: "", bytes: bytes).blockBytes
        #expect(
          (16..<1 << 30).contains(bytes) ? block % 16 == 0 && block >= bytes + 8 && block < bytes + 40 : block == 0,
          "\(bytes)")
      }
    }
  }
#endif
