import CrashReport
import CrashRing
import Glibc
import Testing

@testable import CrashDaemon

@Suite("The diagnosis")
struct DiagnosisRuleTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var cause: String
    var record: CrashRecord
    var failure: String?
    /// A part of the sentence.
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
      record: .sample(signal: SIGILL, code: 2, message: "shop/main.swift:12: Fatal error: sold out\n"), failure: "x",
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
    Case(cause: "non-canonical", record: .sample(code: 128, address: 0), says: "no pointer can have"),
    Case(
      cause: "privileged-instruction", record: .sample(code: 128, instruction: [0xf4]), says: "only the kernel may use"),
    Case(
      cause: "stack-overflow", record: .sample(code: 2, address: sp - 8, sp: sp, errorCode: 6, depth: 9_000),
      says: "9000 calls deep"),
    Case(cause: "stack-overflow", record: .sample(address: sp - 40_000, sp: sp, errorCode: 6), says: "overflowed, or"),
    // On a thread with a small stack: a few calls, and the guard page.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp - 8, sp: sp, errorCode: 6, depth: 20, stackStart: sp, stack: [1]), says: "20 calls deep"),
    // A large frame: the stack pointer is deep in the guard pages, and the fault far above it.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp + 20_000, sp: sp, errorCode: 6, depth: 20, stackStart: sp + 20_480, stack: [1]),
      says: "20 calls deep"),
    // The walk did not come to an end: perhaps the stack pointer was wrong before.
    Case(
      cause: "stack-overflow",
      record: .sample(
        code: 2, address: sp + 20_000, sp: sp, errorCode: 6, depth: 20, unwindStop: 3, stackStart: sp + 20_480,
        stack: [1]),
      says: "overflowed, or"),
    // The stack can be read at the fault: a read-only page, and no guard page.
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
      says: "behind the end of the file"),
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
      cause: "assertion",
      record: .sample(
        signal: SIGABRT, code: -6, abortMessage: "shop: shop.c:3: sell: Assertion `stock >= 0' failed.\n"),
      says: "stock >= 0"),
    Case(
      cause: "abort-message", record: .sample(signal: SIGABRT, code: -6, abortMessage: "out of cheese"),
      says: "out of cheese"),
    Case(
      cause: "cxx-exception", record: .sample(signal: SIGABRT, code: -6, exceptionType: "St13runtime_error"),
      says: "std::runtime_error"),
    Case(cause: "abort", record: .sample(signal: SIGABRT, code: -6, senderPid: 99), says: "called abort()"),
    Case(
      cause: "sent-signal", record: .sample(code: 0, senderPid: 5, senderUid: 1000),
      says: "Process 5 (uid 1000) sent it SIGSEGV"),
    Case(cause: "raised-signal", record: .sample(code: -6, senderPid: 99), says: "sent itself SIGSEGV"),
    Case(
      cause: "trap", record: .sample(signal: SIGILL, code: 2, instruction: [0x0f, 0x0b, 0x00]),
      says: "stopped itself at a trap"),
    Case(
      cause: "illegal-instruction", record: .sample(signal: SIGILL, code: 2, instruction: [0x0f, 0xff]),
      says: "does not know the instruction"),
    Case(cause: "breakpoint", record: .sample(signal: SIGTRAP, code: 128), says: "breakpoint"),
    Case(cause: "integer-division", record: .sample(signal: SIGFPE, code: 1), says: "division by zero"),
    Case(cause: "floating-point", record: .sample(signal: SIGFPE, code: 3), says: "floating-point"),
    Case(
      cause: "blocked-system-call", record: .sample(signal: SIGSYS, code: 1, systemCall: 135),
      says: "forbade system call 135"),
    Case(cause: "signal", record: .sample(signal: SIGXCPU, code: 128), says: "got SIGXCPU"),
  ]

  @Test("each kind of crash has its cause and its sentence", arguments: cases)
  func causes(_ expected: Case) {
    let facts = CrashFacts(record: expected.record, pid: 99, runtimeFailure: expected.failure)
    let frame = CrashReport.Frame(
      address: 0, function: "Shop.buy(_:)", mangled: "$s", file: "/src/shop/Shop.swift", line: 12, trust: .cfi)
    let diagnosis = DiagnosisRule.diagnose(facts, at: frame)
    #expect(diagnosis.cause == expected.cause)
    #expect(diagnosis.sentence.contains(expected.says))
    #expect(diagnosis.sentence.hasSuffix(" in Shop.buy(_:) (Shop.swift:12)."))
    #expect(diagnosis.confidence > 0 && diagnosis.confidence <= 1)
  }

  @Test("a general protection fault is never called a null pointer")
  func generalProtection() throws {
    let report = try #require(RingContents.sample([.sample(code: 128, address: 0)]).report())
    #expect(report.diagnosis.cause == "non-canonical")
    #expect(report.signal.address == nil)
    #expect(report.signal.codeName == "SI_KERNEL")
  }

  @Test(
    "a sentence takes the first line of a message, without its full stop, and shows that there was more",
    arguments: [
      ("Could not cast 'A' to 'B'.\n", "Could not cast 'A' to 'B'"), ("wait...", "wait..."),
      ("shop/a.swift:3: Fatal error: the cart is\nempty", "the cart is…"),
    ])
  func messageLine(text: String, core: String) {
    #expect(MessageText.core(text) == core)
  }

  @Test("no two rules have one name")
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
