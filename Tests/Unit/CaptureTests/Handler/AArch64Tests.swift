import CTestKit
import Testing

/// Tests the functions of the shield for AArch64 that also compile on other architectures.
///
/// The tests use values that emulators do not produce.
@Suite("The capture for AArch64")
struct AArch64Tests {
  /// DW_CFA_advance_loc by one instruction: by 1 times the code alignment factor 4.
  static let advance: UInt8 = 0x41
  static let negate: UInt8 = 0x2d
  static let remember: UInt8 = 0x0a
  static let restore: UInt8 = 0x0b

  /// Returns whether the return address is signed at this code offset; nil if the instructions are invalid.
  private func isSigned(_ instructions: [UInt8], at offset: UInt64) -> Bool? {
    // Invariant: the call uses the pointer only for the buffer's byte count, and does not keep it.
    let result = unsafe instructions.withUnsafeBufferPointer {
      unsafe cs_test_row_is_signed($0.baseAddress, $0.count, offset)
    }
    return result < 0 ? nil : result == 1
  }

  @Test("the return address is signed after DW_CFA_AARCH64_negate_ra_state, until the next such instruction")
  func negated() {
    let instructions = [Self.advance, Self.negate, Self.advance, Self.negate, Self.advance]
    #expect(isSigned(instructions, at: 0) == false)
    #expect(isSigned(instructions, at: 4) == true)
    #expect(isSigned(instructions, at: 7) == true)
    #expect(isSigned(instructions, at: 8) == false)
    #expect(isSigned(instructions, at: 400) == false)
  }

  @Test("DW_CFA_restore_state restores whether the return address is signed")
  func restored() {
    let instructions = [
      Self.advance, Self.negate, Self.remember, Self.advance, Self.negate, Self.advance, Self.restore,
    ]
    #expect(isSigned(instructions, at: 4) == true)
    #expect(isSigned(instructions, at: 8) == false)
    #expect(isSigned(instructions, at: 12) == true)
    #expect(isSigned([Self.restore], at: 0) == nil)
  }

  private func prologue(_ code: [UInt32]) -> Int {
    // Invariant: the call uses the pointer only for the buffer's count, and does not keep it.
    unsafe code.withUnsafeBufferPointer { unsafe cs_test_async_prologue($0.baseAddress, $0.count) }
  }

  @Test("the prologue of an async function stores x22 below the frame record")
  func asyncPrologue() {
    // sub sp, sp, #48; stp x29, x30, [sp, #32]; str x22, [sp, #24]; add x29, sp, #32
    let code: [UInt32] = [0xd100_c3ff, 0xa902_7bfd, 0xf900_0ff6, 0x9100_83fd]
    #expect(prologue(code) == 4)
    #expect(prologue([code[0], code[1], 0xf900_0bf3, code[2], code[3]]) == 5)
    // Invalid prologues: the async context at another offset, no async context, a frame pointer before the context, a
    // call, and a return.
    #expect(prologue([code[0], code[1], 0xf900_0bf6, code[3]]) == 0)
    #expect(prologue([code[0], code[1], code[3]]) == 0)
    #expect(prologue([code[0], code[1], code[3], code[2]]) == 0)
    #expect(prologue([code[0], code[1], code[2], 0x9400_0001, code[3]]) == 0)
    #expect(prologue([code[0], code[1], code[2], 0xd65f_03c0, code[3]]) == 0)
    #expect(prologue(Array(code.dropLast())) == 0)
  }

  @Test("the target of bl is decoded for forward and backward calls; other branches have no known target")
  func calls() {
    #expect(cs_test_call_target(0x9400_0002, 0x1000) == 0x1008)
    #expect(cs_test_call_target(0x97ff_ffff, 0x1000) == 0xffc)
    #expect(cs_test_call_target(0x95ff_ffff, 0x1000_0000) == 0x17ff_fffc)
    #expect(cs_test_call_target(0x9600_0000, 0x1000_0000) == 0x800_0000)
    #expect(cs_test_call_target(0x1400_0002, 0x1000) == 0)
    #expect(cs_test_call_target(0xd63f_0020, 0x1000) == 0)
  }

  static let accesses: [(UInt32, cs_test_access, UInt32, String)] = [
    (0xf940_0100, .CS_TEST_ACCESS_LOAD, 8, "ldr x0, [x8]"),
    (0xf900_0109, .CS_TEST_ACCESS_STORE, 8, "str x9, [x8]"),
    (0xb900_13ff, .CS_TEST_ACCESS_STORE, 31, "str wzr, [sp, #16]"),
    (0xa942_7bfd, .CS_TEST_ACCESS_LOAD, 31, "ldp x29, x30, [sp, #32]"),
    (0xa9bf_7bfd, .CS_TEST_ACCESS_STORE, 31, "stp x29, x30, [sp, #-16]!"),
    (0x3861_6a83, .CS_TEST_ACCESS_LOAD, 20, "ldrb w3, [x20, x1]"),
    (0x7800_2683, .CS_TEST_ACCESS_STORE, 20, "strh w3, [x20], #2"),
    (0xb89f_c041, .CS_TEST_ACCESS_LOAD, 2, "ldursw x1, [x2, #-4]"),
    (0x39c0_0020, .CS_TEST_ACCESS_LOAD, 1, "ldrsb w0, [x1]"),
    (0x3c81_0080, .CS_TEST_ACCESS_STORE, 4, "stur q0, [x4, #16]"),
    (0x3dc0_00a0, .CS_TEST_ACCESS_LOAD, 5, "ldr q0, [x5]"),
    (0x3d80_00a0, .CS_TEST_ACCESS_STORE, 5, "str q0, [x5]"),
    (0xfd40_04c1, .CS_TEST_ACCESS_LOAD, 6, "ldr d1, [x6, #8]"),
    (0xbd00_08c1, .CS_TEST_ACCESS_STORE, 6, "str s1, [x6, #8]"),
    (0xc85f_fc41, .CS_TEST_ACCESS_LOAD, 2, "ldaxr x1, [x2]"),
    (0xc800_fc41, .CS_TEST_ACCESS_STORE, 2, "stlxr w0, x1, [x2]"),
    (0xc8df_fc61, .CS_TEST_ACCESS_LOAD, 3, "ldar x1, [x3]"),
    (0xc89f_fc61, .CS_TEST_ACCESS_STORE, 3, "stlr x1, [x3]"),
    (0xc87f_0861, .CS_TEST_ACCESS_LOAD, 3, "ldxp x1, x2, [x3]"),
    (0xc820_0861, .CS_TEST_ACCESS_STORE, 3, "stxp w0, x1, x2, [x3]"),
    (0xc8a1_7c62, .CS_TEST_ACCESS_STORE, 3, "cas x1, x2, [x3]"),
    (0x4820_7c82, .CS_TEST_ACCESS_STORE, 4, "casp x0, x1, x2, x3, [x4]"),
    (0xf821_0062, .CS_TEST_ACCESS_STORE, 3, "ldadd x1, x2, [x3]"),
    (0xf821_8062, .CS_TEST_ACCESS_STORE, 3, "swp x1, x2, [x3]"),
    (0xf8bf_c061, .CS_TEST_ACCESS_LOAD, 3, "ldapr x1, [x3]"),
    (0xd940_8061, .CS_TEST_ACCESS_LOAD, 3, "ldapur x1, [x3, #8]"),
    (0xd900_8061, .CS_TEST_ACCESS_STORE, 3, "stlur x1, [x3, #8]"),
    (0xf820_0461, .CS_TEST_ACCESS_LOAD, 3, "ldraa x1, [x3]"),
    (0x4c40_70e0, .CS_TEST_ACCESS_LOAD, 7, "ld1 {v0.16b}, [x7]"),
    (0x4c00_70e0, .CS_TEST_ACCESS_STORE, 7, "st1 {v0.16b}, [x7]"),
    (0xa840_0440, .CS_TEST_ACCESS_LOAD, 2, "ldnp x0, x1, [x2]"),
    (0xa800_0440, .CS_TEST_ACCESS_STORE, 2, "stnp x0, x1, [x2]"),
    (0xf840_0820, .CS_TEST_ACCESS_LOAD, 1, "ldtr x0, [x1]"),
    (0xf800_0820, .CS_TEST_ACCESS_STORE, 1, "sttr x0, [x1]"),
    (0x5800_0000, .CS_TEST_ACCESS_NONE, 0, "ldr x0, literal"),
    (0x8b02_0020, .CS_TEST_ACCESS_NONE, 0, "add x0, x1, x2"),
    (0xd420_0020, .CS_TEST_ACCESS_NONE, 0, "brk #1"),
    (0x9400_0002, .CS_TEST_ACCESS_NONE, 0, "bl"),
    (0xd50b_7420, .CS_TEST_ACCESS_OPAQUE, 0, "dc zva, x0"),
    (0x1901_0440, .CS_TEST_ACCESS_OPAQUE, 0, "cpyfp [x0]!, [x1]!, x2!"),
    (0xa400_a020, .CS_TEST_ACCESS_OPAQUE, 0, "ld1b {z0.b}, p0/z, [x1]"),
  ]

  @Test("the decoder determines whether an instruction loads or stores, and its base register", arguments: accesses)
  func access(code: UInt32, access: cs_test_access, base: UInt32, text: String) {
    var found: UInt32 = 0
    // Invariant: the call writes the number before it returns.
    #expect(unsafe cs_test_access_of(code, &found) == access, "\(text)")
    if access == .CS_TEST_ACCESS_LOAD || access == .CS_TEST_ACCESS_STORE { #expect(found == base, "\(text)") }
  }

  /// Builds a record as the kernel stores it in a signal frame: a magic number, the size and the contents.
  private func record(_ magic: UInt32, _ size: UInt32, _ contents: [UInt8]) -> [UInt8] {
    let head = [magic, size].flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    return head + contents
  }

  private func syndrome(_ records: [UInt8]) -> UInt64 {
    // Invariant: the call uses the pointer only for the buffer's byte count, and does not keep it.
    unsafe records.withUnsafeBufferPointer { unsafe cs_test_syndrome($0.baseAddress, $0.count) }
  }

  @Test("the exception syndrome is found among the records of a signal frame; without its record, it is 0")
  func syndromes() {
    let vectors = record(0x4650_8001, 528, Array(repeating: 0xff, count: 520))
    let scalable = record(0x5356_4501, 16, Array(repeating: 0xff, count: 8))
    // A data abort of a write: class 0x24, bit 6.
    let cause = record(0x4553_5201, 16, [0x46, 0, 0, 0x92, 0, 0, 0, 0])
    let end = record(0, 0, Array(repeating: 0, count: 16))
    #expect(syndrome(vectors + cause + end) == 0x9200_0046)
    #expect(syndrome(vectors + scalable + cause + end) == 0x9200_0046)
    #expect(cs_test_syndrome_class(0x9200_0046) == 0x24)
    #expect(cs_test_syndrome_class(0x8200_0006) == 0x20)
    #expect(syndrome(vectors + end + cause) == 0)
    #expect(syndrome(vectors) == 0)
    #expect(syndrome([]) == 0)
    // Damaged records: a size of 0, an odd size, a size beyond the end, and a truncated record.
    #expect(syndrome(record(0x4650_8001, 0, Array(repeating: 0, count: 8)) + cause) == 0)
    #expect(syndrome(record(0x4650_8001, 17, Array(repeating: 0, count: 9)) + cause) == 0)
    #expect(syndrome(record(0x4650_8001, 0xffff_fff0, Array(repeating: 0, count: 8)) + cause) == 0)
    #expect(syndrome(vectors + Array(cause.dropLast())) == 0)
  }

  @Test("user addresses have 48 bits on AArch64, and 47 bits on x86-64")
  func addresses() {
    for address: UInt64 in [0x1000, 0x7fff_ffff_f000] {
      #expect(cs_test_is_user_address(address, 47) && cs_test_is_user_address(address, 48))
    }
    for address: UInt64 in [0x8000_0000_0000, 0xffff_ffff_f000, 0xffff_8000_0010] {
      #expect(!cs_test_is_user_address(address, 47) && cs_test_is_user_address(address, 48))
    }
    for address: UInt64 in [0, 8, 0xfff, 0x1_0000_0000_0000, 0xffff_0000_0000_0000] {
      #expect(!cs_test_is_user_address(address, 47) && !cs_test_is_user_address(address, 48))
    }
  }

  @Test("alternate stacks fill whole pages of 4, 16 and 64 KiB, and have room for the vector registers of SVE and SME")
  func pages() {
    for page: UInt64 in [4096, 16384, 65536] {
      for minimum: UInt64 in [0, 2048, 4720, 10_000, 75_000] {
        let size = cs_test_alternate_stack_bytes(minimum, page)
        #expect(size % page == 0 && size >= 65536 + minimum && size < 65536 + minimum + page)
      }
    }
  }
}
