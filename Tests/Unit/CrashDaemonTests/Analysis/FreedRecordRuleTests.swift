import CShimRing
import CrashReport
@testable import CrashRing
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  /// Tests faults in memory that held an object of a protected class and has been allocated again.
  @Suite("Diagnosis of freed objects whose memory is in use again")
  struct FreedRecordRuleTests {
    private static let block: UInt64 = 0x7f12_3456_4a20
    private static let text: UInt64 = 0x2f76_312f_6970_612f
    private static let rax = 0, rdi = 5, r13 = 13

    /// A method call on a freed object whose memory now contains text.
    private struct Fault {
      var size: UInt64 = 0x41
      var words: [UInt64] = [text, text + 1]
      var registers: [Int: UInt64] = [rax: text, r13: block]
      var instruction: [UInt8] = [0xff, 0x50, 0x38]  // call [rax+0x38]
      var code: Int32 = 128
      var address: UInt64 = 0
      var function = "$s4shop5visityyF"
      var image: String?
      var freed: [UInt64] = [block]
      var images: [RingContents.Image] = []
    }

    private static func ring(_ freed: [UInt64], sequence: Int64 = 0) throws -> RingContents {
      var ring = TestRing()
      ring.addImage(0)
      for (index, address) in freed.enumerated() {
        ring.addIncident(index, key: UInt64(index + 1), subject: "App.Session", count: 1, mode: 4)
        ring.makeFreedRecord(index, at: address, tid: 4712, sequence: sequence)
      }
      ring.addCrash(signal: SIGSEGV)
      return try RingSource(memory: ring.memory()).mapping.contents()
    }

    private static func facts(_ fault: Fault) throws -> CrashFacts {
      var record = CrashRecord.sample(
        code: fault.code, address: fault.address, pc: 0x10010, errorCode: fault.code == 128 ? 0 : 4,
        instruction: fault.instruction)
      for (number, value) in fault.registers { record.registers[number] = value }
      let bytes = ([fault.size] + fault.words).flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
      }
      var facts = CrashFacts(
        record: record, pid: 99, images: fault.images,
        frames: [
          CrashReport.Frame(address: 0x10010, mangled: fault.function, image: fault.image, trust: .context)
        ],
        words: [MemoryWords.Piece(start: block - 8, bytes: bytes)], heap: HeapFacts(key: 0x8dd2_38a1_0f3c_5b77))
      let contents = try ring(fault.freed)
      let crash = try #require(contents.records.first)
      facts.freedRecords = contents.freedRecords(of: crash).map { FreedRecord(incident: $0, release: []) }
      #expect(facts.freedRecords.map(\.address) == fault.freed)
      return facts
    }

    @Test("a call through the reused memory of a protected class's object is a use-after-free, but not certain")
    func call() throws {
      let facts = try Self.facts(Fault())
      let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
      #expect(diagnosis.rule == "dangling-ghost" && diagnosis.cause == "dangling" && diagnosis.confidence == 0.8)
      #expect(
        diagnosis.evidence?.contains("r13 points at 0x7f1234564a20, which is memory that was a App.Session until 2 ms")
          == true)
      #expect(facts.danglingClass == "App.Session")
      let object = try #require(facts.freedRecord?.object)
      #expect(object.className == "App.Session" && object.releaseThread == 13 && object.age_ns == 2_000_000)
      // The memory now contains a small number, which another rule would treat as a null pointer if there were no
      // record of the freed object.
      let number = Fault(
        words: [54_321, 60_000], registers: [Self.rax: 54_321, Self.r13: Self.block], code: 1, address: 54_321 + 0x38)
      #expect(DiagnosisRule.diagnose(try Self.facts(number), at: nil).rule == "dangling-ghost")
      // Unoptimized code calls a method by mov rax, [rax+0x40]; call rax.
      let load = Fault(instruction: [0x48, 0x8b, 0x40, 0x40, 0xff, 0xd0, 0x48])
      #expect(DiagnosisRule.diagnose(try Self.facts(load), at: nil).rule == "dangling-ghost")
      // The runtime destroys the object with call [rax-0x10].
      let release = Fault(
        registers: [Self.rax: Self.text, Self.rdi: Self.block], instruction: [0xff, 0x50, 0xf0],
        function: "_swift_release_dealloc", image: "/usr/lib/swift/linux/libswiftCore.so")
      #expect(DiagnosisRule.diagnose(try Self.facts(release), at: nil).rule == "dangling-ghost")
    }

    @Test("a fault that a live object or another cause explains is not attributed to the freed object of the block")
    func others() throws {
      var faults: [(String, Fault)] = []
      func add(_ what: String, _ change: (inout Fault) -> Void) {
        var fault = Fault()
        change(&fault)
        faults.append((what, fault))
      }
      add("no object was freed there") { $0.freed = [] }
      add("an object was freed elsewhere") { $0.freed = [Self.block + 0x40] }
      add("a live object whose first word was overwritten") { $0.words[1] = 0x2_0000_0003 }
      add("a live, immortal object") { $0.words[1] = 0x8000_0004_ffff_ffff }
      add("a live object with a side table") { $0.words[1] = 0xc000_0ac6_16fd_2956 }
      add("an overrun of the previous block") { $0.size = Self.text }
      add("a method of another object") { $0.registers = [Self.rax: Self.text, Self.rdi: Self.block] }
      add("a call in a C function") { $0.function = "shop_visit" }
      add("a read: mov rax, [rax+0x10]") { $0.instruction = [0x48, 0x8b, 0x40, 0x10] }
      add("a read, and a call of something else") { $0.instruction = [0x48, 0x8b, 0x40, 0x10, 0xff, 0xd1] }
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
        #expect(DiagnosisRule.diagnose(try Self.facts(fault), at: nil).cause != "dangling", "\(what)")
      }
    }

    @Test(
      "the load of a method and its call are recognized in all registers; other instructions are not",
      arguments: [
        ([0x48, 0x8b, 0x40, 0x40, 0xff, 0xd0], true), ([0x48, 0x8b, 0x81, 0, 1, 0, 0, 0xff, 0xd0], true),
        ([0x4c, 0x8b, 0x48, 0x40, 0x41, 0xff, 0xd1], true), ([0x49, 0x8b, 0x44, 0x24, 0x40, 0xff, 0xe0], true),
        ([0x48, 0x8b, 0x40, 0x40, 0xff, 0xd1], false), ([0x4c, 0x8b, 0x48, 0x40, 0xff, 0xd1], false),
        ([0x48, 0x8b, 0x00, 0xff, 0xd0], false), ([0x48, 0x8b, 0x40, 0x40], false), ([0x48, 0x8b], false), ([], false),
        ([0x48, 0x89, 0x40, 0x40, 0xff, 0xd0], false),
      ] as [([UInt8], Bool)])
    func loads(bytes: [UInt8], isLoad: Bool) { #expect(MethodLoad_x86_64.begins(bytes) == isLoad) }

    @Test(
      "the load of an async method's relative address is recognized in all registers; other instructions are not",
      arguments: [
        ([0x48, 0x63, 0x08, 0x48, 0x01, 0xc1], true),  // movsxd rcx, [rax]; add rcx, rax
        ([0x48, 0x63, 0x10, 0x48, 0x89, 0xc1, 0x48, 0x01, 0xd1], true),  // after mov rcx, rax: add rcx, rdx
        ([0x4d, 0x63, 0x01, 0x4d, 0x01, 0xc8], true),  // movsxd r8, [r9]; add r8, r9
        ([0x48, 0x63, 0x48, 0x08, 0x48, 0x01, 0xc1], false),  // movsxd rcx, [rax+8]
        ([0x48, 0x63, 0x0d, 0, 0, 0, 0, 0x48, 0x01], false),  // movsxd rcx, [rip]
        ([0x48, 0x63, 0x08, 0x48, 0x01, 0x08], false),  // movsxd rcx, [rax]; add [rax], rcx
        ([0x48, 0x63, 0x10, 0x48, 0x89, 0xc1, 0x48, 0x29, 0xd1], false),  // after mov rcx, rax: sub rcx, rdx
        ([0x48, 0x63, 0x10, 0x48, 0x89, 0xc1, 0x48, 0x01], false), ([0x48, 0x8b, 0x08, 0x48, 0x01, 0xc1], false),
        ([0x48, 0x63, 0x08], false), ([], false),
      ] as [([UInt8], Bool)])
    func asyncLoads(bytes: [UInt8], isLoad: Bool) { #expect(MethodLoad_x86_64.beginsAsync(bytes) == isLoad) }

    @Test("a freed-object record is used in the report of its own crash only, and is not listed as an incident")
    func crashes() async throws {
      let contents = try Self.ring([Self.block])
      let record = try #require(contents.records.first)
      #expect(contents.freedRecords(of: record).count == 1 && contents.framesOfFreedRecords.map(\.pc) == [0x40_0030])
      var other = record
      other.tid += 1
      #expect(contents.freedRecords(of: other).isEmpty)
      #expect(try Self.ring([Self.block], sequence: 1).freedRecords(of: record).isEmpty)
      // A hostile process can write many records, but crashd uses only eight.
      #expect(try Self.ring((0..<200).map { Self.block + 16 * $0 }).freedRecords(of: record).count == 8)

      let daemon = try TestDaemon(TestDirectory())
      var ring = TestRing()
      ring.addIncident(0, key: 1, subject: "App.Session", count: 1, mode: 4)
      ring.makeFreedRecord(0, at: Self.block, tid: 4712, sequence: 0)
      let source = try RingSource(memory: ring.memory())
      let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
      let process = AttachedProcess(number: 4, facts: facts, ring: source)
      #expect(await daemon.analysis.observe(process, seen: [:]).isEmpty)
      #expect(try daemon.store.incidents(limit: 10).isEmpty)
    }
  }
#endif
