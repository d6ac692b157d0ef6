import CrashReport
import CrashRing
import CrashSymbols
import Testing

@testable import CrashDaemon

@Suite("The field of a null pointer fault")
struct FieldGuessTests {
  /// The instruction mov rax, [rdi + 0x10].
  private static let load: [UInt8] = [0x48, 0x8b, 0x47, 0x10]

  private static let types = """
    T 0 order
    F 0 8 p 1 customer
    F 8 16 v 2 price
    F 24 8 - - total
    T 1 customer
    F 0 8 - - id
    F 16 8 - - name
    T 2 money
    F 0 4 - - code
    F 8 8 v 3 \("")
    T 3 amount
    F 0 8 - - whole
    """

  private func facts(
    address: UInt64 = 0x10, rdi: UInt64 = 0, stack: [UInt64] = [], memory: [MemoryWords.Piece] = []
  ) -> CrashFacts {
    var record = CrashRecord.sample(
      address: address, instruction: Self.load,
      stack: stack.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } })
    record.registers[5] = rdi
    record.registers[6] = 0x7fff_0000_0010
    return CrashFacts(record: record, pid: 99, words: memory)
  }

  private func guess(_ variables: String, _ facts: CrashFacts) -> CrashReport.AccessedField? {
    FieldGuess(ScopeDescription(Array((variables + "\n" + Self.types + "\n").utf8)), facts).field
  }

  @Test("a null variable in a register or on the stack gives its type, whose field is at the fault's offset")
  func direct() {
    let expected = CrashReport.AccessedField(name: "price.whole", type: "order", variable: "it", offset: 16)
    #expect(guess("V r 5 0 0 it", facts()) == expected)
    #expect(guess("V m 6 -16 0 it", facts(stack: [0, 1])) == expected)
    // There is no guess for a variable whose value is not null, and for two variables whose values are not in the
    // record.
    #expect(guess("V m 6 -8 0 it", facts(stack: [0, 1])) == nil)
    #expect(guess("V m 6 8000 0 it", facts(stack: [0, 1])) == nil)
    #expect(guess("V r 400 0 0 it", facts()) == nil)
    // The offset of the access is beyond the end of the type.
    #expect(guess("V r 5 0 0 it", facts(address: 0x20)) == nil)
  }

  @Test("if the instruction used a pointer near null, it is treated as a null pointer")
  func nearNull() {
    #expect(guess("V r 5 0 0 it", facts(address: 0x18, rdi: 8))?.name == "price.whole")
    #expect(guess("V r 4 8 0 it", facts(address: 0x18, rdi: 0x18)) == nil)
  }

  @Test("several null variables give a field only if they have the same type")
  func several() {
    #expect(guess("V r 5 0 0 it\nV r 4 0 1 other", facts()) == nil)
    #expect(guess("V r 5 0 0 it\nV r 4 0 0 self", facts())?.variable == "it")
    // A pointer to a number explains a fault at address 0, but not a fault at a higher address.
    #expect(guess("V r 5 0 0 it\nV r 4 0 - number", facts(address: 0)) == nil)
    #expect(guess("V r 5 0 0 it\nV r 4 0 - number", facts())?.name == "price.whole")
  }

  @Test("a null field of a variable's object explains the fault, unless the record has another value for the field")
  func indirect() {
    let expected = CrashReport.AccessedField(name: "name", type: "customer", variable: "it.customer", offset: 16)
    let null = MemoryWords.Piece(start: 0x50000, bytes: [UInt8](repeating: 0, count: 8))
    let other = MemoryWords.Piece(start: 0x50000, bytes: [UInt8](repeating: 1, count: 8))
    #expect(guess("V r 3 327680 0 it", facts(memory: [null])) == expected)
    #expect(guess("V r 3 327680 0 it", facts()) == expected)
    #expect(guess("V r 3 327680 0 it", facts(memory: [other])) == nil)
  }

  @Test("a scope description with recursive or missing types causes no trap")
  func hostile() {
    let circle = ScopeDescription(Array("V r 5 0 0 it\nT 0 a\nF 0 8 v 0 a\nF 0 8 v 0 b\nF 0 8 v 9 c\n".utf8))
    #expect(FieldGuess(circle, facts()).field == nil)
    let far = "V r 5 0 0 it\nT 0 a\nF 18446744073709551615 18446744073709551615 - - a\n"
    #expect(FieldGuess(ScopeDescription(Array(far.utf8)), facts(address: 3)).field?.offset == 3)
    #expect(guess("V r -1 0 -7 it\nV r 5 -9223372036854775808 70 it", facts()) == nil)
  }

  @Test("the sentence marks the field as a guess, and the confidence is unchanged")
  func sentence() {
    var facts = facts(address: 0x18)
    let plain = DiagnosisRule.diagnose(facts, at: nil)
    facts.field = CrashReport.AccessedField(name: "total", type: "order", variable: "it", offset: 24)
    let guessed = DiagnosisRule.diagnose(facts, at: nil)
    #expect(plain.sentence == "Null pointer: read of offset 24 of null.")
    #expect(guessed.sentence == "Null pointer: read of offset 24 of null, probably the field 'total' of 'order'.")
    #expect(guessed.confidence == plain.confidence && guessed.field == facts.field && plain.field == nil)
    // The diagnosis suggests a field only for a null pointer.
    facts.record.address = 0x1234_5678
    #expect(DiagnosisRule.diagnose(facts, at: nil).field == nil)
  }
}
