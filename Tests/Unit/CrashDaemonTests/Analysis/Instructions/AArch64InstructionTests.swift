import CrashReport
import CrashSymbols
import Testing

@testable import CrashDaemon

@Suite("The instruction decoder of AArch64")
struct AArch64InstructionTests {
  /// Instructions of Debian's libc, libm and libswiftCore, each with the operand that llvm-objdump prints, and whether
  /// the instruction writes to it.
  ///
  /// All 41,000 different loads and stores of these libraries were compared with llvm-objdump in the same way.
  private static let accesses: [(word: UInt32, operand: String, isStore: Bool)] =
    [
      (0x089f_fd0a, "[x8]", true),  // stlrb w10, [x8]
      (0x08df_fd08, "[x8]", false),  // ldarb w8, [x8]
      (0x0d40_0000, "[x0]", false),  // ld1 { v0.b }[0], [x0]
      (0x2900_0023, "[x1]", true),  // stp w3, w0, [x1]
      (0x293c_ebb9, "[x29, #-0x1c]", true),  // stp w25, w26, [x29, #-0x1c]
      (0x2941_27e8, "[sp, #0x8]", false),  // ldp w8, w9, [sp, #0x8]
      (0x2d40_0ee1, "[x23]", false),  // ldp s1, s3, [x23]
      (0x3800_1401, "[x0]", true),  // strb w1, [x0], #0x1
      (0x3840_32c8, "[x22, #0x3]", false),  // ldurb w8, [x22, #0x3]
      (0x3c80_4000, "[x0, #0x4]", true),  // stur q0, [x0, #0x4]
      (0x3c9c_0ca2, "[x5, #-0x40]", true),  // str q2, [x5, #-0x40]!
      (0x3ca8_7920, "[x9, x8, lsl #4]", true),  // str q0, [x9, x8, lsl #4]
      (0x3cc1_0c20, "[x1, #0x10]", false),  // ldr q0, [x1, #0x10]!
      (0x3d00_0000, "[x0]", true),  // str b0, [x0]
      (0x3d80_07e0, "[sp, #0x10]", true),  // str q0, [sp, #0x10]
      (0x3dc0_07e0, "[sp, #0x10]", false),  // ldr q0, [sp, #0x10]
      (0x4820_7c82, "[x4]", false),  // casp x0, x1, x2, x3, [x4]
      (0x489f_fd0a, "[x8]", true),  // stlrh w10, [x8]
      (0x48df_fd08, "[x8]", false),  // ldarh w8, [x8]
      (0x4c40_89a0, "[x13]", false),  // ld2 { v0.4s, v1.4s }, [x13]
      (0x4d40_cc01, "[x0]", false),  // ld1r { v1.2d }, [x0]
      (0x6942_8803, "[x0, #0x14]", false),  // ldpsw x3, x2, [x0, #0x14]
      (0x6d03_8280, "[x20, #0x38]", true),  // stp d0, d0, [x20, #0x38]
      (0x6d40_8812, "[x0, #0x8]", false),  // ldp d18, d2, [x0, #0x8]
      (0x6db6_3bef, "[sp, #-0xa0]", true),  // stp d15, d14, [sp, #-0xa0]!
      (0x7840_1008, "[x0, #0x1]", false),  // ldurh w8, [x0, #0x1]
      (0x78e0_7861, "[x3, x0, lsl #1]", false),  // ldrsh w1, [x3, x0, lsl #1]
      (0x7c28_7820, "[x1, x8, lsl #1]", true),  // str h0, [x1, x8, lsl #1]
      (0x7d00_0000, "[x0]", true),  // str h0, [x0]
      (0x880f_7c31, "[x1]", true),  // stxr w15, w17, [x1]
      (0x880f_fc31, "[x1]", true),  // stlxr w15, w17, [x1]
      (0x885f_7c20, "[x1]", false),  // ldxr w0, [x1]
      (0x885f_fc20, "[x1]", false),  // ldaxr w0, [x1]
      (0x889f_fc01, "[x0]", true),  // stlr w1, [x0]
      (0x88a0_7c41, "[x2]", false),  // cas w0, w1, [x2]
      (0x88df_fc00, "[x0]", false),  // ldar w0, [x0]
      (0xa8c1_7bfd, "[sp]", false),  // ldp x29, x30, [sp], #0x10
      (0xa900_8260, "[x19, #0x8]", true),  // stp x0, x0, [x19, #0x8]
      (0xa940_0001, "[x0]", false),  // ldp x1, x0, [x0]
      (0xa940_83e9, "[sp, #0x8]", false),  // ldp x9, x0, [sp, #0x8]
      (0xac80_c067, "[x3]", true),  // stp q7, q16, [x3], #0x10
      (0xad00_03e0, "[sp]", true),  // stp q0, q0, [sp]
      (0xad38_83a0, "[x29, #-0xf0]", true),  // stp q0, q0, [x29, #-0xf0]
      (0xad40_8021, "[x1, #0x10]", false),  // ldp q1, q0, [x1, #0x10]
      (0xadbf_03e0, "[sp, #-0x20]", true),  // stp q0, q0, [sp, #-0x20]!
      (0xb800_4c80, "[x4, #0x4]", true),  // str w0, [x4, #0x4]!
      (0xb820_0020, "[x1]", false),  // ldadd w0, w0, [x1]
      (0xb820_1020, "[x1]", false),  // ldclr w0, w0, [x1]
      (0xb820_3020, "[x1]", false),  // ldset w0, w0, [x1]
      (0xb820_7820, "[x1, x0, lsl #2]", true),  // str w0, [x1, x0, lsl #2]
      (0xb820_8020, "[x1]", false),  // swp w0, w0, [x1]
      (0xb828_5921, "[x9, w8, uxtw #2]", true),  // str w1, [x9, w8, uxtw #2]
      (0xb840_4c02, "[x0, #0x4]", false),  // ldr w2, [x0, #0x4]!
      (0xb860_6820, "[x1, x0]", false),  // ldr w0, [x1, x0]
      (0xb860_d820, "[x1, w0, sxtw #2]", false),  // ldr w0, [x1, w0, sxtw #2]
      (0xb880_2281, "[x20, #0x2]", false),  // ldursw x1, [x20, #0x2]
      (0xb8e0_2020, "[x1]", false),  // ldeoral w0, w0, [x1]
      (0xb900_03e0, "[sp]", true),  // str w0, [sp]
      (0xb940_03e2, "[sp]", false),  // ldr w2, [sp]
      (0xbc1d_03a8, "[x29, #-0x30]", true),  // stur s8, [x29, #-0x30]
      (0xbc53_83a8, "[x29, #-0xc8]", false),  // ldur s8, [x29, #-0xc8]
      (0xbc60_7820, "[x1, x0, lsl #2]", false),  // ldr s0, [x1, x0, lsl #2]
      (0xbd40_0000, "[x0]", false),  // ldr s0, [x0]
      (0xc828_0695, "[x20]", true),  // stxp w8, x21, x1, [x20]
      (0xc828_8293, "[x20]", true),  // stlxp w8, x19, x0, [x20]
      (0xc87f_0288, "[x20]", false),  // ldxp x8, x0, [x20]
      (0xd50b_7423, "[x3]", true),  // dc zva, x3
      (0xf800_8c48, "[x2, #0x8]", true),  // str x8, [x2, #0x8]!
      (0xf820_7822, "[x1, x0, lsl #3]", true),  // str x2, [x1, x0, lsl #3]
      (0xf834_c804, "[x0, w20, sxtw]", true),  // str x4, [x0, w20, sxtw]
      (0xf840_8c01, "[x0, #0x8]", false),  // ldr x1, [x0, #0x8]!
      (0xf860_5900, "[x8, w0, uxtw #3]", false),  // ldr x0, [x8, w0, uxtw #3]
      (0xf860_d820, "[x1, w0, sxtw #3]", false),  // ldr x0, [x1, w0, sxtw #3]
      (0xf900_03e0, "[sp]", true),  // str x0, [sp]
      (0xf940_03e0, "[sp]", false),  // ldr x0, [sp]
      (0xfc00_9300, "[x24, #0x9]", true),  // stur d0, [x24, #0x9]
      (0xfc1f_8c01, "[x0, #-0x8]", true),  // str d1, [x0, #-0x8]!
      (0xfc40_4000, "[x0, #0x4]", false),  // ldur d0, [x0, #0x4]
      (0xfc5f_8c02, "[x0, #-0x8]", false),  // ldr d2, [x0, #-0x8]!
      (0xfc60_d822, "[x1, w0, sxtw #3]", false),  // ldr d2, [x1, w0, sxtw #3]
      (0xfd40_0000, "[x0]", false),  // ldr d0, [x0]
      (0xfd40_07e0, "[sp, #0x8]", false),  // ldr d0, [sp, #0x8]
    ]

  private static func bytes(_ word: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }

  private static func decode(_ word: UInt32) -> MachineInstruction? { InstructionDecoder_aarch64.decode(bytes(word)) }

  @Test("a memory operand is decoded as llvm-objdump decodes it", arguments: accesses)
  func operand(word: UInt32, text: String, isStore: Bool) throws {
    let instruction = try #require(Self.decode(word))
    #expect(instruction.operands.map(\.text) == [text])
    #expect(instruction.isStore == isStore && !instruction.hasUnknownOperand && instruction.kind == .other)
  }

  @Test("the address of an operand includes the extended and shifted index register")
  func address() throws {
    var registers = [UInt64](repeating: 0, count: 33)
    (registers[9], registers[8], registers[1], registers[0]) = (0x1000, 0xffff_ffff_0000_0003, 0x2000, 0xffff_fffe)
    registers[31] = 0x7000
    registers[32] = 0x40_0000
    func address(_ word: UInt32) throws -> UInt64? {
      try #require(Self.decode(word)?.operands.first).address(registers)
    }
    #expect(try address(0x3ca8_5920) == 0x1030)  // str q0, [x9, w8, uxtw #4]
    #expect(try address(0xb820_d822) == 0x1ff8)  // str w2, [x1, w0, sxtw #2]
    #expect(try address(0xb860_ca61) == 0xffff_ffff_ffff_fffe)  // ldr w1, [x19, w0, sxtw]
    #expect(try address(0x2901_57f9) == 0x7008)  // stp w25, w21, [sp, #0x8]
    #expect(try address(0x58ff_ffc0) == 0x3f_fff8)  // ldr x0, #-0x8
    // A record without all registers gives no address.
    #expect(try #require(Self.decode(0x2901_57f9)?.operands.first).address([1, 2]) == nil)
  }

  @Test("branches, calls and returns are decoded with their target; prefetches and arithmetic have no memory operand")
  func others() throws {
    let branches: [(UInt32, MachineInstruction.Kind, Int?)] = [
      (0xd61f_0200, .jump, 16), (0xd63f_0100, .call, 8), (0xd65f_03c0, .ret, 30), (0xd65f_0bff, .ret, 30),
      (0xd73f_0909, .call, 8), (0x1400_0001, .jump, nil), (0x97ff_ffff, .call, nil),
    ]
    for (word, kind, target) in branches {
      let instruction = try #require(Self.decode(word))
      #expect(instruction.kind == kind && instruction.targetRegister == target && instruction.operands.isEmpty)
    }
    // prfm pldl1keep, [x0]; prfum; prfm [x0, x1]; prfm literal; add; adrp; nop; mov
    for word in [
      0xf980_0000, 0xf880_1000, 0xf8a1_6800, 0xd800_0000, 0x9100_0400, 0x9000_0000, 0xd503_201f, 0xaa01_03e0,
    ]
      as [UInt32]
    {
      #expect(Self.decode(word) == MachineInstruction(), "\(String(word, radix: 16))")
    }
    // For SVE, memory copies and memory tags, the decoder does not describe the access.
    for word in [0xa400_a020, 0xe400_e000, 0x1901_0440, 0xd920_0800] as [UInt32] {
      #expect(Self.decode(word)?.hasUnknownOperand == true, "\(String(word, radix: 16))")
    }
    // hvc, smc, eret, mrs of a kernel register, and tlbi
    for word in [0xd400_0002, 0xd400_0003, 0xd69f_03e0, 0xd538_2000, 0xd508_871f] as [UInt32] {
      #expect(Self.decode(word)?.isPrivileged == true, "\(String(word, radix: 16))")
    }
    // svc, brk, mrs of the thread pointer, and mrs of the counter
    for word in [0xd400_0001, 0xd420_0020, 0xd53b_d040, 0xd53b_e040] as [UInt32] {
      #expect(Self.decode(word)?.isPrivileged == false, "\(String(word, radix: 16))")
    }
    #expect(Self.decode(0) == nil && InstructionDecoder_aarch64.decode([0, 0, 0x40]) == nil)
  }

  @Test("instructions with one or two changed bits, and with any upper half, are decoded to valid register numbers")
  func anyBits() {
    func check(_ word: UInt32) -> Bool {
      guard let instruction = Self.decode(word) else { return true }
      let numbers = instruction.operands.flatMap { [$0.base, $0.index] }.compactMap { $0 }
      let isShifted = instruction.operands.allSatisfy { $0.scale.nonzeroBitCount == 1 && $0.scale <= 128 }
      return instruction.operands.count <= 1 && numbers.allSatisfy { 0...32 ~= $0 } && isShifted
        && 0...30 ~= instruction.targetRegister ?? 0 && instruction.operands.allSatisfy { $0.text.hasPrefix("[") }
    }
    var wrong = 0
    for (word, _, _) in Self.accesses {
      for first in 0..<32 as Range<UInt32> {
        for second in first..<32 where !check(word ^ 1 << first ^ 1 << second) { wrong += 1 }
      }
    }
    for upper in 0..<65_536 as Range<UInt32> {
      for lower in [0, 0xffff, 0x0c1f, 0x6be0, 0x1234] as [UInt32] where !check(upper << 16 | lower) { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test("the load of a method followed by its call is recognized; other instruction pairs are not")
  func methods() {
    func bytes(_ words: UInt32...) -> [UInt8] { words.flatMap(Self.bytes) }
    // ldr x8, [x8, #0x40]; blr x8
    #expect(MethodLoad_aarch64.begins(bytes(0xf940_2108, 0xd63f_0100)))
    // ldr x8, [x8, #0x40]; br x8
    #expect(MethodLoad_aarch64.begins(bytes(0xf940_2108, 0xd61f_0100)))
    // These are not recognized: a call through another register, a load without an offset, a load of 32 bits, and a
    // load without a call.
    #expect(!MethodLoad_aarch64.begins(bytes(0xf940_2108, 0xd63f_0120)))
    #expect(!MethodLoad_aarch64.begins(bytes(0xf940_0108, 0xd63f_0100)))
    #expect(!MethodLoad_aarch64.begins(bytes(0xb940_4108, 0xd63f_0100)))
    #expect(!MethodLoad_aarch64.begins(bytes(0xf940_2108)))
    // ldrsw x9, [x8]; add x8, x9, x8, with and without mov x0, x8 between them
    #expect(MethodLoad_aarch64.beginsAsync(bytes(0xb980_0109, 0x8b08_0128)))
    #expect(MethodLoad_aarch64.beginsAsync(bytes(0xb980_0109, 0xaa08_03e0, 0x8b00_0128)))
    #expect(!MethodLoad_aarch64.beginsAsync(bytes(0xb980_0509, 0x8b08_0128)))
    #expect(!MethodLoad_aarch64.beginsAsync(bytes(0xb980_0109, 0x8b08_0148)))
  }

  @Test("the decoder follows moves before a fault to the pointer through which a register was loaded")
  func moves() throws {
    func bytes(_ words: UInt32...) -> [UInt8] { words.flatMap(Self.bytes) }
    var registers = [UInt64](repeating: 0, count: 33)
    (registers[19], registers[8]) = (0x5000, 0x6000)
    let memory = MemoryWords([MemoryWords.Piece(start: 0x5018, bytes: [0, 0x60, 0, 0, 0, 0, 0, 0])])
    func origin(_ code: [UInt8], _ register: Int) -> [UInt64]? {
      PrecedingLoads(code, registers, memory, .aarch64).origin(of: register).map { [$0.pointer, $0.address] }
    }
    // ldr x8, [x19, #0x18]; mov x0, x8
    let load = bytes(0xf940_0e68, 0xaa08_03e0)
    #expect(origin(load, 0) == [0x5000, 0x5018] && origin(load, 8) == [0x5000, 0x5018])
    // ldur x0, [x8, #-0x8] after the load of x8
    #expect(origin(bytes(0xf940_0e68, 0xf85f_8100), 0) == [0x6000, 0x5ff8])
    // The search for the load stops at a call (bl).
    #expect(origin(bytes(0xf940_0e68, 0x9400_0001), 8) == nil)
    // cbz x1 can jump over the load, so the load has not always run.
    let skipped = bytes(0xb400_0041, 0xf940_0e68)
    #expect(PrecedingLoads.straight(skipped, following: [], for: .aarch64) == [])
    // A loop jumps back to the load (b.ne), so the load has run.
    let loop = PrecedingLoads.straight(load, following: bytes(0xf940_0c00, 0x54ff_ffa1), for: .aarch64)
    #expect(loop == load)
  }

  @Test("random bytes before a fault are decoded in bounded time without a trap")
  func anyMoves() {
    var generator = SystemRandomNumberGenerator()
    let words: [UInt32] = [0xf940_0e68, 0xaa08_03e0, 0xf85f_8100, 0x54ff_ffa1, 0x17ff_fffe, 0xb400_0041, 0x3603_fff0]
    for _ in 0..<2_000 {
      var code = (0..<6).flatMap { _ in Self.bytes(words.randomElement(using: &generator) ?? 0) }
      code[Int.random(in: 0..<24, using: &generator)] = .random(in: 0...255, using: &generator)
      code.removeLast(Int.random(in: 0...3, using: &generator))
      let loads = PrecedingLoads(code, Array(repeating: 8, count: 33), MemoryWords([]), .aarch64)
      for register in 0..<33 { _ = loads.origin(of: register) }
      #expect(PrecedingLoads.straight(code, following: code, for: .aarch64).count <= code.count)
      if let (move, rest) = PrecedingLoads_aarch64.last(of: code[...]) {
        #expect(rest.count == code.count - 4 && 0..<31 ~= move.destination && 0...31 ~= move.source)
      }
    }
  }
}
