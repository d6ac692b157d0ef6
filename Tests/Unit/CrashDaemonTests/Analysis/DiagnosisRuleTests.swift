import CrashReport
import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The diagnosis")
struct DiagnosisRuleTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var cause: CrashReport.Cause
    var record: CrashRecord
    var failure: String?
    /// The frames of the crashing thread, innermost first.
    var frames: [String] = []
    /// A string that the sentence or the evidence of the diagnosis must contain.
    var says: String
    var testDescription: String { "\(cause): \(says)" }
  }

  static let sp: UInt64 = 0x7fff_0000_0000

  static let cases: [Case] = [
    Case(
      cause: "swift-runtime-failure", record: .sample(signal: SIGILL, code: 2), failure: "Index out of range",
      says: "Index out of range"),
    Case(
      cause: "swift-fatal-error",
      record: .sample(signal: SIGILL, code: 2, message: "shop/main.swift:12: Fatal error: sold out\n"),
      says: "stopped the program: sold out in"),
    Case(
      cause: "swift-fatal-error", record: .sample(signal: SIGABRT, code: -6, message: "Could not cast value"),
      says: "Could not cast value"),
    Case(cause: "null-pointer", record: .sample(address: 0), says: "read of address 0"),
    Case(cause: "null-pointer", record: .sample(address: 0, errorCode: 6), says: "write to address 0"),
    Case(cause: "null-pointer-offset", record: .sample(address: 0x18), says: "offset 24 of null"),
    Case(cause: "null-pointer-offset", record: .sample(address: 65_535), says: "offset 65535"),
    Case(cause: "wild-pointer", record: .sample(address: 65_536), says: "0x10000, where nothing is mapped"),
    Case(cause: "null-call", record: .sample(address: 0, pc: 0, errorCode: 20), says: "null function pointer"),
    Case(
      cause: "protected-memory", record: .sample(code: 4, address: 0x55aa_0000, errorCode: 0x25),
      says: "may not be read"),
    Case(cause: "non-canonical", record: .sample(code: 128, address: 0), says: "no pointer can have"),
    // If a non-canonical address is based on rbp, the processor raises a stack fault (#SS), for which the kernel sends
    // SIGBUS.
    Case(cause: "non-canonical", record: .sample(signal: SIGBUS, code: 128), says: "no pointer can have"),
    Case(
      cause: "privileged-instruction", record: .sample(code: 128, instruction: [0xf4]), says: "only the kernel may use"),
    Case(
      cause: "stack-overflow", record: .sample(code: 2, address: sp - 8, sp: sp, errorCode: 6, depth: 9_000),
      says: "9000 calls deep"),
    Case(cause: "stack-overflow", record: .sample(address: sp - 40_000, sp: sp, errorCode: 6), says: "overflowed, or"),
    // The thread has a small stack, which 20 calls fill.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp - 8, sp: sp, errorCode: 6, depth: 20, stackStart: sp, stack: [1]), says: "20 calls deep"),
    // The innermost frame is large, so the stack pointer is deep in the guard pages, and the fault address is far above
    // it.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp + 20_000, sp: sp, errorCode: 6, depth: 20, stackStart: sp + 20_480, stack: [1]),
      says: "20 calls deep"),
    // The unwinder stopped before the end of the stack, so the stack pointer can be wrong, and the fault need not be an
    // overflow.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp + 20_000, sp: sp, errorCode: 6, depth: 20, unwindStop: 3, stackStart: sp + 20_480,
        stack: [1]),
      says: "overflowed, or"),
    // The record contains the memory at the fault address, so its page is readable. It is read-only, and not a guard
    // page.
    Case(
      cause: "read-only-write",
      record: .sample(
        code: 2, address: sp + 20_000, sp: sp, errorCode: 7, depth: 20, stackStart: sp - 128, stack: [1]),
      says: "is read-only"),
    Case(
      cause: "jump-to-data", record: .sample(code: 2, address: 0x55aa_0000, pc: 0x55aa_0000, errorCode: 21),
      says: "holds no code"),
    Case(
      cause: "jump-to-unmapped", record: .sample(address: 0x55aa_0000, pc: 0x55aa_0000), says: "Jump to 0x55aa0000"),
    Case(
      cause: "read-only-write", record: .sample(code: 2, address: 0x55aa_0000, errorCode: 7), says: "is read-only"),
    Case(
      cause: "protected-memory", record: .sample(code: 2, address: 0x55aa_0000, errorCode: 5), says: "may not be read"),
    Case(
      cause: "truncated-mapping", record: .sample(signal: SIGBUS, code: 2, address: 0x1000),
      says: "past the end of the file"),
    Case(cause: "misaligned-access", record: .sample(signal: SIGBUS, code: 1, address: 3), says: "Misaligned"),
    Case(cause: "hardware-memory-error", record: .sample(signal: SIGBUS, code: 4, address: 0x1000), says: "hardware"),
    Case(
      cause: "heap-corruption",
      record: .sample(signal: SIGABRT, code: -6, abortMessage: "free(): double free detected in tcache 2\n"),
      says: "double free detected"),
    Case(
      cause: "stack-smashing",
      record: .sample(signal: SIGABRT, code: -6, abortMessage: "*** stack smashing detected ***: terminated"),
      says: "past the end of a buffer"),
    Case(
      cause: "buffer-overflow",
      record: .sample(signal: SIGABRT, code: -6, abortMessage: "*** buffer overflow detected ***: terminated"),
      says: "past the end of its buffer"),
    Case(
      cause: "assertion",
      record: .sample(
        signal: SIGABRT, code: -6, abortMessage: "shop: shop.c:3: sell: Assertion `stock >= 0' failed.\n"),
      says: "stock >= 0"),
    Case(
      cause: "abort-message", record: .sample(signal: SIGABRT, code: -6, abortMessage: "out of cheese"),
      says: "out of cheese"),
    Case(
      cause: "cxx-exception", record: .sample(signal: SIGABRT, code: -6, exceptionType: "St13runtime_error"),
      frames: ["abort", "", "", "_ZSt9terminatev", "__cxa_throw"], says: "Uncaught C++ exception of type std::"),
    Case(cause: "abort", record: .sample(signal: SIGABRT, code: -6, senderPid: 99), says: "called abort()"),
    Case(
      cause: "sent-signal", record: .sample(code: 0, senderPid: 5, senderUid: 1000),
      says: "Process 5 (uid 1000) sent it SIGSEGV"),
    Case(cause: "raised-signal", record: .sample(code: -6, senderPid: 99), says: "sent itself SIGSEGV"),
    Case(
      cause: "raised-signal", record: .sample(signal: SIGABRT, code: 0, senderPid: 99), says: "sent itself SIGABRT"),
    // The kernel reports pid 0 for a sender outside the pid namespace.
    Case(
      cause: "sent-signal", record: .sample(signal: SIGABRT, code: 0, senderPid: 0, senderUid: 7),
      says: "outside of its container, or pid namespace, (uid 7) sent it SIGABRT"),
    Case(
      cause: "sent-signal", record: .sample(signal: SIGILL, code: -6, senderPid: 0), failure: "Index out of range",
      says: "outside of its container"),
    // For the signal of a timer, the field of the sender's pid contains the number of the timer.
    Case(
      cause: "timer-signal", record: .sample(signal: SIGABRT, code: -2, senderPid: 3), says: "A timer of the program"),
    Case(
      cause: "timer-signal", record: .sample(signal: SIGABRT, code: -2, senderPid: 0), says: "A timer of the program"),
    Case(
      cause: "trap", record: .sample(signal: SIGILL, code: 2, instruction: [0x0f, 0x0b, 0x00]),
      says: "stopped itself at a trap"),
    Case(
      cause: "illegal-instruction", record: .sample(signal: SIGILL, code: 2, instruction: [0x0f, 0xff]),
      says: "does not support the instruction"),
    Case(cause: "breakpoint", record: .sample(signal: SIGTRAP, code: 128), says: "breakpoint"),
    Case(cause: "integer-division", record: .sample(signal: SIGFPE, code: 1), says: "division by zero"),
    Case(cause: "floating-point", record: .sample(signal: SIGFPE, code: 3), says: "floating-point"),
    Case(
      cause: "blocked-system-call", record: .sample(signal: SIGSYS, code: 1, systemCall: 135),
      says: "forbade system call 135"),
    Case(cause: "signal", record: .sample(signal: SIGXCPU, code: 128), says: "got SIGXCPU"),
  ]

  @Test(
    "at a trap instruction, the rule of an illegal instruction does not apply", arguments: [[0x0f, 0x0b], [0x0f], []])
  func trapIsLegal(instruction: [UInt8]) {
    let facts = CrashFacts(record: .sample(signal: SIGILL, code: 2, instruction: instruction), pid: 99)
    let applying = DiagnosisRule.explain(facts).filter(\.applies).map(\.rule)
    #expect(applying.contains("illegal-instruction") == (instruction == [0x0f]))
  }

  @Test("each kind of crash is diagnosed with its own cause and sentence", arguments: cases)
  func causes(_ expected: Case) {
    let frames = expected.frames.map {
      CrashReport.Frame(address: 0, mangled: $0, image: "/usr/lib/libstdc++.so.6", trust: .cfi)
    }
    let facts = CrashFacts(record: expected.record, pid: 99, runtimeFailure: expected.failure, frames: frames)
    let frame = CrashReport.Frame(
      address: 0, function: "Shop.buy(_:)", mangled: "$s", file: "/src/shop/Shop.swift", line: 12, trust: .cfi)
    let diagnosis = DiagnosisRule.diagnose(facts, at: frame)
    #expect(diagnosis.cause == expected.cause)
    #expect("\(diagnosis.sentence) \(diagnosis.evidence ?? "")".contains(expected.says))
    // The sentence must not contain an address, because equal crashes of two processes must have equal sentences.
    #expect(!diagnosis.sentence.contains("0x"), "\(diagnosis.sentence)")
    #expect(diagnosis.sentence.hasSuffix(" in Shop.buy(_:) (Shop.swift:12)."))
    #expect(diagnosis.confidence > 0 && diagnosis.confidence <= 1)
  }

  @Test("a general protection fault is never diagnosed as a null pointer")
  func generalProtection() throws {
    let report = try #require(RingContents.sample([.sample(code: 128, address: 0)]).report())
    #expect(report.diagnosis.cause == "non-canonical")
    #expect(report.signal.address == nil)
    #expect(report.signal.codeName == "SI_KERNEL")
  }

  @Test(
    "a sentence has the first line of a message without its full stop, and a mark if further lines were cut",
    arguments: [
      ("Could not cast 'A' to 'B'.\n", "Could not cast 'A' to 'B'"), ("wait...", "wait..."),
      ("shop/a.swift:3: Fatal error: the cart is\nempty", "the cart is…"),
    ])
  func messageLine(text: String, core: String) {
    #expect(MessageText.core(text) == core)
  }

  @Test("D9: a blank message does not change the rest of the diagnosis", arguments: ["", ":", ": ", ":    \n"])
  func blankMessage(end: String) {
    #expect(MessageText.core("shop/a.swift:3: Fatal error" + end) == "shop/a.swift:3: Fatal error")
  }

  @Test("S15: the diagnosis of a trap beyond the isolation budget states that the budget was exceeded")
  func maximumContainedFaults() {
    var record = CrashRecord.sample(code: 2, address: 0)
    record.signal = SIGILL
    #expect(
      !DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99), at: nil).sentence.contains("budget"))
    record.exceedsIsolationBudget = true
    let sentence = DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99), at: nil).sentence
    #expect(
      sentence.hasSuffix(" The trap was in isolated work, and not contained: the budget of contained traps is used up.")
    )
  }

  @Test(
    "every abort message of glibc's malloc is diagnosed as a damaged heap",
    arguments: [
      "double free or corruption (!prev)", "corrupted size vs. prev_size while consolidating",
      "corrupted double-linked list (not small)", "free(): corrupted unsorted chunks",
      "malloc(): largebin double linked list corrupted (bk)", "malloc_consolidate(): invalid chunk size",
      "realloc(): invalid old size", "munmap_chunk(): invalid pointer", "mremap_chunk(): invalid pointer",
      "tcache_thread_shutdown(): unaligned tcache chunk detected", "break adjusted to free malloc space",
      "Fatal glibc error: malloc assertion failure in sysmalloc: (old_top == initial_top (av) && old_size == 0)",
      "Fatal glibc error: malloc.c:2599 (sysmalloc): assertion failed: (old_top == initial_top (av) && old_size == 0)",
    ])
  func heap(message: String) {
    let facts = CrashFacts(record: .sample(signal: SIGABRT, code: -6, abortMessage: message), pid: 99)
    #expect(DiagnosisRule.diagnose(facts, at: nil).cause == "heap-corruption")
  }

  @Test(
    "a failed C assertion is diagnosed as one, for any text of the assertion",
    arguments: [
      "shop: shop.c:3: sell: Assertion `!list->corrupted' failed.",
      "shop: shop.c:3: Assertion `strcmp(text, \"*** stack smashing detected ***\")' failed.",
      "shop: shop.c:3: sell: Assertion `!\"double free or corruption\"' failed.",
      "Fatal glibc error: shop.c:3 (sell): assertion failed: free(): stock",
    ])
  func assertions(message: String) {
    let facts = CrashFacts(record: .sample(signal: SIGABRT, code: -6, abortMessage: message), pid: 99)
    #expect(DiagnosisRule.diagnose(facts, at: nil).cause == "assertion")
  }

  private func frame(_ name: String, isOwn: Bool = false) -> CrashReport.Frame {
    CrashReport.Frame(address: 0x20000, mangled: name, image: "/srv/shop", isOwn: isOwn, trust: .cfi)
  }

  @Test("a caught exception is not the cause of a later abort")
  func caughtException() {
    let record = CrashRecord.sample(signal: SIGABRT, code: -6, exceptionType: "St13runtime_error")
    let diagnose = { DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99, frames: $0), at: nil) }
    let own = frame("_ZN4shop4sellEv", isOwn: true)
    #expect(diagnose([frame("raise"), frame("abort"), own]).cause == "abort")
    // This function's name contains "terminate", but the function calls abort() itself.
    #expect(diagnose([frame("abort"), frame("shop_terminate", isOwn: true)]).cause == "abort")
    for frames in [[frame("abort"), frame("plugin_run"), own], [frame("abort"), frame("_ZSt9terminatev"), own], []] {
      #expect(diagnose(frames).confidence < 0.9)
    }
    for frames in [
      [frame("abort"), own, frame("_ZSt9terminatev"), frame("__cxa_throw"), own],
      [frame("abort"), frame("_ZSt9terminatev"), frame("__clang_call_terminate"), own],
    ] {
      #expect(diagnose(frames).rule == "cxx-exception")
    }
  }

  @Test("an in-app function with a libdispatch name is not treated as libdispatch's")
  func ownDispatch() {
    let record = CrashRecord.sample(signal: SIGILL, code: 2, instruction: [0x0f, 0x0b])
    let diagnose = { DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99, frames: [$0]), at: nil).cause }
    #expect(diagnose(frame("event_dispatch_loop", isOwn: true)) == "trap")
    #expect(diagnose(frame("event_dispatch_loop")) == "trap")
    #expect(diagnose(frame("dispatch_group_leave.cold.1")) == "dispatch-misuse")
  }

  @Test("the sentence of a misuse of libdispatch names the innermost of its functions that has a name")
  func namelessDispatch() {
    let record = CrashRecord.sample(signal: SIGILL, code: 2, instruction: [0x0f, 0x0b])
    let diagnose = { (names: [String]) in
      let frames = names.map {
        CrashReport.Frame(address: 0x20000, mangled: $0, image: "/usr/lib/libdispatch.so", isOwn: false, trust: .cfi)
      }
      return DiagnosisRule.diagnose(
        CrashFacts(record: record, pid: 99, frames: frames + [frame("sell", isOwn: true)]), at: nil
      ).sentence
    }
    #expect(diagnose(["", "dispatch_group_leave"]).contains("API misuse (dispatch_group_leave)."))
    #expect(diagnose(["", ""]).contains("API misuse."))
  }

  @Test("a fault through a bad pointer in a runtime check is not diagnosed as a Swift trap")
  func checkElsewhere() {
    let facts = CrashFacts(record: .sample(address: 0x18), pid: 99, runtimeFailure: "Index out of range")
    #expect(DiagnosisRule.diagnose(facts, at: nil).cause == "null-pointer-offset")
  }

  #if arch(x86_64)
    static let refused: [(cause: CrashReport.Cause, instruction: [UInt8], rdi: UInt64, error: UInt64)] = [
      ("misaligned-access", [0x0f, 0x58, 0x07], 0x5000_0008, 0),  // addps xmm0, [rdi]
      ("misaligned-access", [0x66, 0x0f, 0xef, 0x07], 0x5000_0008, 0),  // pxor xmm0, [rdi]
      ("misaligned-access", [0xf0, 0x48, 0x0f, 0xc7, 0x0f], 0x5000_0008, 0),  // lock cmpxchg16b [rdi]
      ("misaligned-access", [0x0f, 0xae, 0x27], 0x5000_0010, 0),  // xsave [rdi]
      ("non-canonical", [0x0f, 0x58, 0x07], 0xdead_0000_0000_0000, 0),
      ("non-canonical", [0xff, 0xe7], 0xdead_0000_0000_0000, 0),  // jmp rdi
      ("non-canonical", [0xff, 0x27], 0x5000_0000, 0),  // jmp [rdi], with a target outside the record
      ("non-canonical", [0xc3], 0, 0),  // ret, with a target outside the record
      ("non-canonical", [0xc4, 0xe2, 0x71, 0x90, 0x04, 0x17], 0x5000_0000, 0),  // a gather
      ("non-canonical", [0x64, 0x48, 0x8b, 0x07], 0x5000_0000, 0),  // mov rax, fs:[rdi]
      ("non-canonical", [0x48, 0x0f, 0xa3, 0x37], 0x5000_0000, 0),  // bt [rdi], rsi
      ("general-protection", [0x48, 0x8b, 0x07], 0x5000_0000, 0),  // mov rax, [rdi]
      ("general-protection", [0x0f, 0xae, 0x17], 0x5000_0000, 0),  // ldmxcsr [rdi]
      ("general-protection", [0x8e, 0xc7], 0x1234, 0x1234),  // mov es, edi
      ("general-protection", [0xff, 0xe7], 0x5000_0000, 0),
      ("privileged-instruction", [0x66, 0xed], 0, 0),  // in ax, dx
      ("privileged-instruction", [0xcd, 0x21], 0, 0x10a),  // int 0x21
      ("privileged-instruction", [0x0f, 0x22, 0xc0], 0, 0),  // mov cr0, rax
      ("privileged-instruction", [0x0f, 0x09], 0, 0),  // wbinvd
      ("privileged-instruction", [0x0f, 0x33], 0, 0),  // rdpmc
      ("privileged-instruction", [0xf3, 0x6e], 0, 0),  // rep outsb
      ("privileged-instruction", [0x0f, 0x01, 0x17], 0x5000_0000, 0),  // lgdt [rdi]
      ("privileged-instruction", [0x0f, 0x01, 0xf8], 0, 0),  // swapgs
      ("general-protection", [0x0f, 0x01, 0xd0], 0, 0),  // xgetbv
    ]

    @Test(
      "a general protection fault is diagnosed with causes that its instruction can have",
      arguments: refused.indices)
    func generalProtection(index: Int) {
      let (cause, instruction, rdi, error) = Self.refused[index]
      var record = CrashRecord.sample(code: 128, errorCode: error, instruction: instruction)
      record.registers[5] = rdi
      let diagnosis = DiagnosisRule.diagnose(CrashFacts(record: record, pid: 99), at: nil)
      #expect(diagnosis.cause == cause, "\(diagnosis.sentence)")
    }
  #endif

  @Test("all diagnosis rules have different names")
  func names() {
    #expect(Set(DiagnosisRule.all.map(\.name)).count == DiagnosisRule.all.count)
  }

  @Test("a sentence holds one line of a hostile message, and no control characters")
  func hostileMessage() {
    let text = "a\u{1b}[31m\u{202e}" + String(repeating: "x", count: 3_000) + "\nsecond"
    let facts = CrashFacts(
      record: .sample(signal: SIGILL, code: 2, message: text), pid: 99, runtimeFailure: nil)
    let sentence = DiagnosisRule.diagnose(facts, at: nil).sentence
    #expect(sentence.count < 300)
    #expect(!sentence.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
    #expect(!sentence.contains("second"))
  }
}
