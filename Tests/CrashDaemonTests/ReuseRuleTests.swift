import CrashReport
import CrashRing
import CrashSymbols
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  /// A block in which an object should be and is none: when that is said to be a use after free.
  @Suite("The diagnosis of memory that was used again, by the class that the code expects")
  struct ReuseRuleTests {
    private static let block: UInt64 = 0x7f12_3456_4a20
    private static let text: UInt64 = 0x2f76_312f_6970_612f
    private static let rax = 0, rdi = 5, r13 = 13

    /// A method of a session is called, of 56 bytes or, of a subclass, 216; its memory has a text by now.
    private struct Fault {
      /// glibc's word in front, the block's own, and glibc's behind it.
      var size: UInt64 = 0x41
      var words: [UInt64] = [text, text + 1, 3, 4, 5, 6, 7]
      var next: UInt64 = 0x31
      var registers: [Int: UInt64] = [rax: text, r13: block]
      var instruction: [UInt8] = [0xff, 0x50, 0x38]  // call [rax+0x38]
      var code: Int32 = 128
      var address: UInt64 = 0
      var function = "$s4shop5visityyF"
      var image: String?
      var images: [RingContents.Image] = []
      var scope = "V r 13 0 0 session\nT 0 Session\nS 56\nU 216\n"
    }

    private static func diagnose(_ fault: Fault) -> CrashReport.Diagnosis {
      var record = CrashRecord.sample(
        code: fault.code, address: fault.address, pc: 0x10010, errorCode: fault.code == 128 ? 0 : 4,
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
        words: [MemoryWords.Piece(start: block - 8, bytes: bytes)], heap: HeapFacts(key: 0x8dd2_38a1_0f3c_5b77))
      facts.expectedClasses = facts.expectedClasses(in: ScopeDescription(Array(fault.scope.utf8)))
      return DiagnosisRule.diagnose(facts, at: nil)
    }

    @Test("a call of a method in a block as large as the expected object is dangling, and not sure")
    func call() {
      let diagnosis = Self.diagnose(Fault())
      #expect(diagnosis.rule == "dangling-reuse" && diagnosis.cause == "dangling" && diagnosis.confidence == 0.7)
      let reason = "the code expects a Session, and the block is as large as one;"
      #expect(diagnosis.sentence.contains(reason), "\(diagnosis.sentence)")
      #expect(diagnosis.sentence.contains("r13 points at 0x7f1234564a20, which is a block of the heap and no object"))
      // The variable is on the stack, or elsewhere in memory.
      var inMemory = Fault(scope: "V m 5 -8 0 session\nT 0 Session\nS 56\n")
      inMemory.registers[Self.rdi] = Self.block + 0x28
      inMemory.words[4] = Self.block
      #expect(Self.diagnose(inMemory).rule == "dangling-reuse")
      // A number, which is an address near null.
      let number = Fault(
        words: [54_321, 60_000, 3, 4, 5, 6, 7], registers: [Self.rax: 54_321, Self.r13: Self.block], code: 1,
        address: 54_321 + 0x38)
      #expect(Self.diagnose(number).rule == "dangling-reuse")
      // Its end is farther than the record reaches.
      let derived = Self.diagnose(Fault(size: 0xe1))
      #expect(derived.rule == "dangling-reuse" && derived.sentence.contains("derived"), "\(derived.sentence)")
    }

    @Test("where something else explains the fault as well, or nobody expects an object, nothing is said")
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
      add("a class whose size is not known") { $0.scope = "V r 13 0 0 session\nT 0 Session\n" }
      add("a variable with another address") { $0.scope = "V r 13 8 0 session\nT 0 Session\nS 56\n" }
      add("a variable in a register that there is not") { $0.scope = "V r 400 0 0 session\nT 0 Session\nS 56\n" }
      add("a living object whose first word was written over") { $0.words[1] = 0x2_0000_0003 }
      add("an overrun of the block before") { $0.size = Self.text }
      add("an overrun of this one") { $0.next = Self.text }
      add("a block that is free by now, and glibc's") { $0.next = 0x30 }
      add("the object is not in r13") { $0.registers = [Self.rax: Self.text, Self.rdi: Self.block] }
      add("r13 points into a block") { $0.registers[Self.r13] = Self.block + 8 }
      add("a call in C") { $0.function = "shop_visit" }
      add("a read: mov rax, [rax+0x10]") { $0.instruction = [0x48, 0x8b, 0x40, 0x10] }
      add("in Swift's runtime") { $0.function = "swift_retain" }
      add("a class that is one") {
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

    @Test("any size from the image is only a number")
    func sizes() {
      for bytes in [0, 1, 24, 25, 1 << 29, 1 << 30, UInt64.max, UInt64.max - 7] {
        let block = ExpectedClass(name: "", bytes: bytes).blockBytes
        #expect(bytes < 1 << 30 ? block % 16 == 0 && block >= bytes + 8 && block < bytes + 40 : block == 0, "\(bytes)")
      }
    }
  }
#endif
