import CrashReport
@testable import CrashRing
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The cause of a crash")
struct CauseTests {
  private static let leak =
    "SWIFT TASK CONTINUATION MISUSE: leak() leaked its continuation without resuming it. This may cause tasks waiting "
    + "on it to remain suspended forever.\n"

  private static let assertion = frame(
    "$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF")

  private static func frame(_ name: String, isOwn: Bool = false) -> CrashReport.Frame {
    CrashReport.Frame(address: 0x20000, mangled: name, image: "/srv/shop", isOwn: isOwn, trust: .cfi)
  }

  private static let own = frame("$s4shop3buyyyF", isOwn: true)

  @Test("D3: an earlier runtime warning is not the cause of a later trap")
  func warnedBeforeTrap() {
    let record = CrashRecord.sample(signal: SIGILL, code: 2, message: Self.leak)
    let facts = CrashFacts(record: record, pid: 99, runtimeFailure: "Index out of range", frames: [Self.own])
    let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
    #expect(diagnosis.cause == "swift-runtime-failure")
    #expect(diagnosis.sentence == "Swift stopped the program: Index out of range.")
    #expect(facts.reason == "Swift runtime failure: Index out of range")
    #expect(facts.earlierWarnings == [String(Self.leak.dropLast())])
  }

  @Test("D3: the last fatal runtime message is the cause, and only if a runtime failure function ended the process")
  func lastReport() {
    let text = Self.leak + "shop/Cart.swift:12: Fatal error: the second thing\nhas two lines\n"
    let facts = { (signal: Int32, frames: [CrashReport.Frame]) in
      CrashFacts(
        record: .sample(signal: signal, code: signal == SIGABRT ? -6 : 2, message: text), pid: 99, frames: frames)
    }
    let fatal = facts(SIGILL, [Self.assertion, Self.own])
    #expect(DiagnosisRule.diagnose(fatal, at: nil).sentence == "Swift stopped the program: the second thing….")
    #expect(fatal.reason == "shop/Cart.swift:12: Fatal error: the second thing\nhas two lines")
    #expect(fatal.earlierWarnings == [String(Self.leak.dropLast())])
    // The message of a Swift runtime failure is not the cause if the program itself called abort().
    let aborted = facts(SIGABRT, [Self.frame("abort"), Self.own, Self.assertion])
    #expect(DiagnosisRule.diagnose(aborted, at: nil).cause == "abort")
    #expect(aborted.reason.isEmpty && aborted.earlierWarnings?.count == 3)
    // The message is not the cause of a memory fault, because a runtime failure ends the program by a trap.
    let fault = CrashFacts(record: .sample(address: 8, message: text), pid: 99, frames: [Self.own])
    #expect(fault.reason.isEmpty && fault.earlierWarnings?.count == 3)
  }

  @Test("D3: a warning alone is never the cause, with or without names in the frames")
  func warningAlone() {
    for frames in [[Self.assertion], [Self.frame("")], [], [Self.frame("abort"), Self.frame("", isOwn: true)]] {
      let facts = CrashFacts(record: .sample(signal: SIGABRT, code: -6, message: Self.leak), pid: 99, frames: frames)
      #expect(DiagnosisRule.diagnose(facts, at: nil).cause == "abort")
    }
  }

  @Test(
    "D3: a fatal runtime error message that precedes the end of the process is the last, fatal report",
    arguments: [
      "Could not cast value of type 'Swift.String' (0x1) to 'Swift.Int' (0x2).",
      "Fatal error: Attempted to read an unowned reference but object 0x1 was already destroyed",
      "Object 0x5581 of class Cart deallocated with non-zero retain count 2.",
      "_Concurrency/CheckedContinuation.swift:196: Fatal error: SWIFT TASK CONTINUATION MISUSE: f() tried to resume its "
        + "continuation more than once, returning ()!",
    ])
  func reports(text: String) {
    let reports = RuntimeReports(Self.leak + text + "\n")
    #expect(reports.last == text && reports.isFatal)
    #expect(reports.earlier + "\n" == Self.leak)
  }

  @Test("D4: the runtime error message supplies the line of the innermost in-app frame if the frame has no line")
  func messageLine() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: Self.assertion.mangled)],
      0x1f: [SourceFrame(mangled: "$s4shop6ScreenC5widthSiyF", symbolAddress: 0x18, file: "/src/shop/Screen.swift")],
      0x2f: [SourceFrame(mangled: "$s4shop6ScreenC6layoutSiyF", file: "/src/shop/Screen.swift", line: 33)],
    ])
    let message =
      "shop/Screen.swift:31: Fatal error: Unexpectedly found nil while implicitly unwrapping an Optional value\n"
    let record = CrashRecord.sample(
      signal: SIGILL, code: 2, message: message, frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030)])
    let report = try #require(RingContents.sample([record]).report(symbols))
    #expect(report.threads[0].frames.map(\.isOwn) == [false, true, true])
    #expect(report.threads[0].frames.map(\.line) == [nil, 31, 33])
    #expect(report.diagnosis.sentence.hasSuffix(" in Screen.width() (Screen.swift:31)."))
    #expect(report.group.title.hasPrefix("Unexpectedly found nil while implicitly unwrapping"))
    #expect(report.group.title.hasSuffix(" in shop.Screen.width()"))
  }

  @Test("S1: a trap in f(x)! names the function that contains the !, not the inlined f")
  func unwrapOfCall() throws {
    let failure = SourceFrame(mangled: "Swift runtime failure: Unexpectedly found nil", isInline: true)
    let frame = { (name: String, line: Int, column: Int, isInline: Bool) in
      SourceFrame(mangled: name, file: "/src/shop/main.swift", line: line, column: column, isInline: isInline)
    }
    let find = { (chain: [SourceFrame]) throws in
      let record = CrashRecord.sample(signal: SIGILL, code: 2, frames: [.at(0x10010, exact: true)])
      let report = try #require(RingContents.sample([record]).report(SampleSymbols(chains: [0x10: [failure] + chain])))
      return try #require(report.threads[0].frames.first { $0.isOwn })
    }
    // The innermost function is an inlined subscript of the runtime. Its caller is an inlined function of the program,
    // whose result the outermost function unwraps by `!`.
    let lookup = try find([
      frame("$sSDyq_SgxcigSS_SiTg5", 7, 23, true), frame("$s4shop6lookupySiSgSS_tF", 2, 75, true),
      frame("$s4shop1aySiSSF", 7, 11, false),
    ])
    #expect(lookup.mangled == "$s4shop1aySiSSF" && lookup.line == 7 && lookup.column == 23)
    // The innermost function is an inlined function of the program.
    let half = try find([frame("$s4shop4halfySiSgSiF", 11, 18, true), frame("$s4shop1byS2iF", 11, 11, false)])
    #expect(half.mangled == "$s4shop1byS2iF" && half.line == 11)
    // The inlined function itself trapped, and not its caller.
    let index = try find([frame("$s4shop5indexyS2iF", 5, 3, true), frame("$s4shop1cyS2iF", 20, 9, false)])
    #expect(index.mangled == "$s4shop5indexyS2iF" && index.line == 5)
    // The innermost function is a closure on the line of its enclosing function.
    let closure = try find([frame("$s4shop1dyS2iFS2iXEfU_", 9, 20, true), frame("$s4shop1dyS2iF", 9, 6, false)])
    #expect(closure.mangled == "$s4shop1dyS2iFS2iXEfU_")
  }

  /// Returns a frame of a function in the file main.swift.
  ///
  /// The frame has its current line, and the line at which the function is declared, as in debug information.
  private static func function(
    _ name: String, at line: Int, _ column: Int = 9, declaredAt start: Int?, inline: Bool = true
  ) -> SourceFrame {
    let file = "/src/shop/main.swift"
    var frame = SourceFrame(mangled: name, file: file, line: line, column: column, isInline: inline)
    frame.declaration = start.map { SourceFrame.Declaration(file: file, line: $0) }
    return frame
  }

  @Test("S1: a trap at a `!` on a later line names the function with the `!`, and the line of the `!`")
  func unwrapBelowCall() {
    let half = Self.function("$s4shop4halfySiSgSiF", at: 20, 4, declaredAt: 8)
    let unwrap = Self.function("$s4shop6unwrapyS2iF", at: 18, 15, declaredAt: 17, inline: false)
    let place = { (chain: [SourceFrame]) in
      let kept = TrapPlace.chain(chain)
      return "\(kept[0].mangled):\(kept[0].line ?? 0):\(kept[0].column ?? 0) of \(kept.count)"
    }
    #expect(place([half, unwrap]) == "$s4shop6unwrapyS2iF:20:4 of 1")
    // The inlined function belongs to the runtime, so the debug information has no declaration for it.
    let lookup = Self.function("$sSDyq_SgxcigSS_SiTg5", at: 20, 4, declaredAt: nil)
    #expect(place([lookup, unwrap]) == "$s4shop6unwrapyS2iF:20:4 of 1")
    // The inlined function itself trapped, and not its caller. First it is declared above its caller, and then below.
    let index = Self.function("$s4shop5indexyS2iF", at: 9, 3, declaredAt: 8)
    let below = Self.function("$s4shop5belowyS2iF", at: 33, 3, declaredAt: 30)
    #expect(place([index, unwrap]) == "$s4shop5indexyS2iF:9:3 of 2")
    #expect(place([below, unwrap]) == "$s4shop5belowyS2iF:33:3 of 2")
    // The next three cases: the caller was itself inlined into the function `outer`; the trap is in a closure; the trap
    // follows a closure that has ended.
    let outer = Self.function("$s4shop5outeryS2iF", at: 41, declaredAt: 40, inline: false)
    #expect(place([half, unwrap, outer]) == "$s4shop6unwrapyS2iF:20:4 of 2")
    let closure = Self.function("$s4shop5outeryS2iFS2iXEfU_", at: 42, declaredAt: 41)
    let inside = Self.function("$s4shop4halfySiSgSiF", at: 43, 6, declaredAt: 8)
    #expect(place([inside, closure, outer]) == "$s4shop5outeryS2iFS2iXEfU_:43:6 of 2")
    let ended = Self.function("$s4shop5outeryS2iF", at: 43, declaredAt: 40, inline: false)
    let behind = Self.function("$s4shop4halfySiSgSiF", at: 45, 4, declaredAt: 8)
    #expect(place([behind, closure, ended]) == "$s4shop5outeryS2iF:45:4 of 1")
    // A function whose declaration is in another file cannot contain a line of this file.
    var elsewhere = half
    elsewhere.declaration = SourceFrame.Declaration(file: "/src/shop/half.swift", line: 19)
    #expect(place([elsewhere, unwrap]) == "$s4shop6unwrapyS2iF:20:4 of 1")
  }

  @Test("D14: the sentence of a failed queue precondition does not mention an actor")
  func dispatchPrecondition() {
    let say = { (names: [String]) in
      let frames = names.map { Self.frame($0) } + [Self.own]
      return DiagnosisRule.diagnose(
        CrashFacts(record: .sample(signal: SIGILL, code: 2, instruction: [0x0f, 0x0b]), pid: 99, frames: frames),
        at: nil)
    }
    #expect(say(["_dispatch_assert_queue_fail", "dispatch_assert_queue"]).sentence.contains("than it asserts"))
    #expect(
      say(["_dispatch_assert_queue_fail", "dispatch_assert_queue_not"]).sentence.contains("asserts not to be on"))
    #expect(
      say(["_dispatch_assert_queue_fail", "dispatch_assert_queue", "swift_task_checkIsolated"]).cause
        == "wrong-executor")
  }

  @Test("D15: the frames show why std::terminate ended a C++ program that threw no exception")
  func terminate() {
    let say = { (names: [String]) in
      let frames = (["raise", "abort"] + names).map { Self.frame($0) } + [Self.own]
      return DiagnosisRule.diagnose(
        CrashFacts(record: .sample(signal: SIGABRT, code: -6), pid: 99, frames: frames), at: nil)
    }
    #expect(say(["_ZN10__cxxabiv111__terminateEPFvvE", "_ZSt9terminatev"]).cause == "cxx-terminate")
    #expect(say(["_ZSt9terminatev", "_ZNSt6threadD2Ev"]).cause == "joinable-thread")
    #expect(say(["_ZSt9terminatev", "__cxa_pure_virtual"]).sentence.hasPrefix("A pure virtual function was called"))
    #expect(say([]).cause == "abort")
  }

  @Test("D17: a sentence without a source location ends in one full stop")
  func noPlace() {
    for expected in DiagnosisRuleTests.cases {
      let facts = CrashFacts(record: expected.record, pid: 99, runtimeFailure: expected.failure)
      let sentence = DiagnosisRule.diagnose(facts, at: nil).sentence
      #expect(sentence.wholeMatch(of: /.*[^,;. ]\.|.*…\./) != nil && !sentence.hasSuffix(" it was."), "\(sentence)")
    }
  }

  @Test("S12: a crash in a deinit deferred by absorb is diagnosed as such, and the shield's frames are not in-app")
  func deferredDeinit() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "$s4shop7SessionCfd", file: "/src/shop/Session.swift", line: 5)],
      0x1f: [SourceFrame(mangled: "cs_evict_deferred", file: "/b/shield/CShim/Quarantine/evict.c", line: 70)],
      0x2f: [SourceFrame(mangled: "reap", file: "/b/shield/CShim/Quarantine/reaper.c", line: 112)],
    ])
    let record = CrashRecord.sample(
      address: 0x55_0000_0000, frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030)])
    let report = try #require(RingContents.sample([record]).report(symbols))
    #expect(report.threads[0].frames.map(\.isOwn) == [true, false, false])
    #expect(report.diagnosis.sentence.contains("in a deinit that the quarantine had deferred (policy absorb)"))
  }

  #if arch(x86_64)
    /// Returns a failure in a method of Session, while a register points at a quarantined object of this class.
    private static func heldFacts(
      _ function: String, self object: UInt64, other: UInt64 = 0, address: UInt64 = 16, failure: String? = nil,
      words: [MemoryWords.Piece] = []
    ) -> CrashFacts {
      let held: UInt64 = 0x5581_2000
      var record = CrashRecord.sample(
        signal: failure == nil ? SIGSEGV : SIGILL, code: failure == nil ? 1 : 2, address: address,
        instruction: [0x48, 0x8b, 0x40, 0x10])  // mov rax, [rax + 16]
      (record.registers[13], record.registers[3]) = (object, other)
      let image = RingContents.Image(
        index: 0, bias: 0x10000, start: 0x10000, end: 0x90000, buildID: "", path: "/srv/shop", isExecutable: true)
      var facts = CrashFacts(
        record: record, pid: 99, runtimeFailure: failure, images: [image],
        frames: [
          CrashReport.Frame(
            address: 0x10010, function: function, mangled: "$s4shop", image: "/srv/shop", isInline: true, isOwn: true,
            trust: .context),
          CrashReport.Frame(
            address: 0x10010, function: "run()", mangled: "$s4shop3runyyF", isOwn: true, trust: .context),
        ], words: words)
      let object = Incident.Record(
        id: 1, address: held, age_ns: 63_000, isExplorer: false, tid: 12, stack: [], bytes: 48, origin: [])
      let incident = Incident(
        key: 1, source: .quarantine, kind: 8, mode: .zero, subject: "shop.Session", count: 1, first_ns: 0, last_ns: 0,
        word: 0, amount: 0, record: object, useTid: 12, use: [], isExact: false)
      facts.held = [FreedRecord(incident: incident, release: [])]
      return facts
    }

    @Test("S4: a method that fails on an object zeroed by the quarantine is a use-after-free, with class and policy")
    func heldObject() {
      let held: UInt64 = 0x5581_2000
      let say = { DiagnosisRule.diagnose($0, at: nil) }
      let direct = say(Self.heldFacts("Session.total()", self: held))
      #expect(direct.cause == "dangling" && direct.rule == "dangling-held")
      #expect(direct.sentence == "Use-after-free: a freed shop.Session was used.", "\(direct.sentence)")
      #expect(direct.evidence?.contains("policy zero") == true)
      let trap = say(Self.heldFacts("Session.total()", self: held, failure: "Index out of range"))
      #expect(trap.rule == "dangling-held" && trap.evidence?.contains("Index out of range") == true)
      #expect(say(Self.heldFacts("Session.total()", self: 0, other: held)).rule == "dangling-held")
      // A register that points at the quarantined object is not evidence in a method of another class, in a function
      // outside of classes, or if self is a live object.
      #expect(say(Self.heldFacts("Order.total()", self: held)).cause == "null-pointer-offset")
      #expect(say(Self.heldFacts("pay(_:)", self: held)).cause == "null-pointer-offset")
      let living = MemoryWords.Piece(
        start: 0x5582_0000, bytes: [0x40, 0x00, 0x01, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0])
      #expect(
        say(Self.heldFacts("Session.total()", self: 0x5582_0000, other: held, words: [living])).cause
          == "null-pointer-offset")
      // A failure in the object's own deinit, which the policy `absorb` deferred, is not a use of a freed object.
      var deferred = Self.heldFacts("Session.deinit", self: held)
      deferred.frames.append(Self.frame("cs_evict_deferred"))
      #expect(say(deferred).cause == "null-pointer-offset")
      // A wild fault address does not come from the quarantined object: the quarantine sets the object to zeros, so a
      // pointer from it would be null.
      #expect(say(Self.heldFacts("Session.total()", self: held, address: 0x5555_0000_0010)).cause == "wild-pointer")
    }

    @Test(
      "S13: the link of a freed block in a malloc arena is not diagnosed as a wild pointer"
    )
    func arenaLink() {
      let say = { (value: UInt64, registers: [UInt64]) in
        var record = CrashRecord.sample(address: value + 0x98, instruction: [0x48, 0x8b, 0x98, 0x98, 0, 0, 0])
        record.registers[0] = value
        for (number, register) in registers.enumerated() { record.registers[8 + number] = register }
        return DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99), at: nil).cause
      }
      let (block, next) = (0x7f12_3412_4a20 as UInt64, 0x7f12_3412_7730 as UInt64)
      let inHeap: [UInt64] = [0x7f12_3400_0030]
      #expect(say(next ^ (block >> 12), inHeap) == "dangling")
      #expect(say(block >> 12, inHeap) == "dangling")
      // The diagnosis is a wild pointer if no value in the record points into the arena, if the block is in another
      // arena, or if the link is not mangled (XORed with the shifted address of its block).
      #expect(say(next ^ (block >> 12), [0x7f55_3400_0030]) == "wild-pointer")
      #expect(say(next ^ (0x7f52_3412_4a20 >> 12), inHeap) == "wild-pointer")
      #expect(say(next, inHeap) == "wild-pointer")
    }

    @Test("S13: a null in a freed block is still diagnosed as a null pointer, and the sentence names the block")
    func freedHint() {
      let (block, key) = (0x5555_5576_4a20 as UInt64, 0x8dd2_38a1_0f3c_5b77 as UInt64)
      // The words are glibc's chunk size before the block, the tcache link, the tcache key, and two fields of the
      // object.
      let words: [UInt64] = [0x41, 0x5555_5576_3210 ^ (block >> 12), key, 7, 0]
      let bytes = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
      var record = CrashRecord.sample(address: 0x18, instruction: [0x48, 0x8b, 0x40, 0x18])  // mov rax, [rax + 0x18]
      record.registers[3] = block
      let facts = CrashFacts(
        record: record, pid: 99, words: [MemoryWords.Piece(start: block - 8, bytes: bytes)],
        heap: HeapFacts(key: key, range: 0x5555_5576_0000..<0x5555_5580_0000))
      let diagnosis = DiagnosisRule.diagnose(facts, at: nil)
      #expect(diagnosis.cause == "null-pointer-offset")
      let hint = "rbx points at 0x555555764a20, which is freed (in a tcache) and has the faulting value"
      #expect(diagnosis.evidence?.contains(hint) == true)
    }

    @Test("D11: an access to unmapped memory is not diagnosed as a bit flip, even if a register is about 2ⁿ away")
    func bitFlip() {
      let find = { (base: UInt64, other: UInt64) in
        // mov byte [rax + 5], 1
        var record = CrashRecord.sample(address: base + 5, instruction: [0xc6, 0x40, 0x05, 0x01])
        (record.registers[0], record.registers[15]) = (base, other)
        let image = RingContents.Image(
          index: 0, bias: 0x7f12_0000_0000, start: 0x7f12_0000_0000, end: 0x7f12_0010_0000, buildID: "",
          path: "/lib/ld-linux.so.2", isExecutable: false)
        return DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99, images: [image]), at: nil).cause
      }
      // The accessed memory is unmapped and 2¹⁸ bytes from the loader, and a register points into the loader.
      #expect(find(0x7f12_0004_0000, 0x7f12_0000_0040) == "wild-pointer")
      #expect(find(0x7f12_0104_0000, 0x7f12_0004_0020) == "wild-pointer")
      #expect(find(0x7f12_0104_0000, 0x7f12_0004_0000) == "wild-pointer")
      // The two pointers differ in one bit.
      #expect(find(0x7f12_0104_1230, 0x7f12_0004_1230) == "bit-flip")
    }

    @Test("D18: writes to code, absolute addresses and smashed return addresses each have their own cause")
    func instructions() {
      let write = CrashRecord.sample(code: 2, address: 0x10010, pc: 0x10010, errorCode: 7, instruction: [0xc6, 0x05])
      #expect(DiagnosisRule.diagnose(CrashFacts(record: write, pid: 99), at: nil).cause == "read-only-write")
      let absolute = CrashRecord.sample(
        code: 128, instruction: [0xa1, 0xfe, 0xca, 0xef, 0xbe, 0xad, 0xde, 0x00, 0x00])
      let diagnosis = DiagnosisRule.diagnose(CrashFacts(record: absolute, pid: 99), at: nil)
      #expect(
        diagnosis.cause == "non-canonical" && diagnosis.evidence?.contains("0xdeadbeefcafe") == true)
      let smashed = CrashRecord.sample(
        code: 128, sp: 0x7000, instruction: [0xc3], stack: [UInt8](repeating: 0x42, count: 16))
      let evidence = DiagnosisRule.diagnose(CrashFacts(record: smashed, pid: 99), at: nil).evidence
      #expect(evidence?.hasPrefix("Return to 0x4242424242424242") == true)
    }
  #endif
}
