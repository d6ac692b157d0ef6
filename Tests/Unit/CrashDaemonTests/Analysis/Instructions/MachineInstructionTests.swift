import CrashReport
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

#if arch(x86_64)
  @Suite("The instruction decoder")
  struct MachineInstructionTests {
    private static func decode(_ bytes: [UInt8]) -> MachineInstruction? { InstructionDecoder_x86_64.decode(bytes) }

    @Test(
      "a memory operand is decoded as the processor decodes it",
      arguments: [
        ([0x48, 0x8b, 0x47, 0x10], "[rdi + 0x10]"),  // mov rax, [rdi+0x10]
        ([0x89, 0x10], "[rax]"),  // mov [rax], edx
        ([0x41, 0x8b, 0x44, 0x8d, 0xf0], "[r13 + rcx*4 - 0x10]"),  // mov eax, [r13+rcx*4-0x10]
        ([0x4a, 0x8b, 0x04, 0xe5, 0x00, 0x10, 0x00, 0x00], "[r12*8 + 0x1000]"),  // mov rax, [r12*8+0x1000]
        ([0x48, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00], "[rip + 0x17]"),  // mov rax, [rip+0x10]
        ([0x48, 0x83, 0x3d, 0x10, 0x00, 0x00, 0x00, 0x05], "[rip + 0x18]"),  // cmp qword [rip+0x10], 5
        ([0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00], "fs:[0x28]"),  // mov rax, fs:[0x28]
        ([0xf0, 0x48, 0x0f, 0xc7, 0x0c, 0xf5, 0x10, 0x00, 0x00, 0x00], "[rsi*8 + 0x10]"),  // lock cmpxchg16b
        ([0xff, 0x50, 0x38], "[rax + 0x38]"),  // call [rax+0x38]
        ([0xc5, 0xfc, 0x28, 0x46, 0x20], "[rsi + 0x20]"),  // vmovaps ymm0, [rsi+0x20]
        ([0xc4, 0xc1, 0x7a, 0x6f, 0x00], "[r8]"),  // vmovdqu xmm0, [r8]
        ([0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x06], "[rsi]"),  // vmovdqu64 zmm0, [rsi]
        ([0x41, 0x5c], "[rsp]"),  // pop r12
        ([0xe8, 0, 0, 0, 0], "[rsp - 0x8]"),  // call
        ([0xf3, 0xa4], "[rsi]"),  // rep movsb
      ] as [([UInt8], String)])
    func operand(bytes: [UInt8], text: String) {
      #expect(Self.decode(bytes)?.operands.first?.text == text)
    }

    @Test(
      "an instruction without a memory access has no memory operand",
      arguments: [
        [0x48, 0x89, 0xc8], [0x48, 0x8d, 0x47, 0x10], [0x0f, 0x1f, 0x44, 0x00, 0x00], [0x90], [0xf4], [0x0f, 0x0b],
        [0xff, 0xd0],
      ] as [[UInt8]])
    func withoutOperand(bytes: [UInt8]) {
      #expect(Self.decode(bytes)?.operands.isEmpty != false || bytes == [0xff, 0xd0])
    }

    @Test("a decoded call has its target register, and an aligned move its alignment")
    func details() {
      #expect(Self.decode([0xff, 0xd0])?.targetRegister == 0)
      #expect(Self.decode([0x41, 0xff, 0xe5])?.targetRegister == 13)
      #expect(Self.decode([0x41, 0xff, 0xe5])?.kind == .jump)
      #expect(Self.decode([0x0f, 0x29, 0x07])?.alignment == 16)
      #expect(Self.decode([0xc5, 0xfd, 0x7f, 0x07])?.alignment == 32)
      #expect(Self.decode([0x0f, 0x11, 0x07])?.alignment == nil)
    }

    /// The opcodes whose 16-byte operand must be aligned, by prefix and opcode map.
    ///
    /// They were measured: on a processor, each of them faults if the address of its operand is a multiple of 8, but
    /// not of 16.
    private static let aligned: [(prefix: [UInt8], map: [UInt8], opcodes: String)] = [
      ([], [], "14 15 28 29 2b 51 52 53 54 55 56 57 58 59 5b 5c 5d 5e 5f c2 c6"),
      (
        [0x66], [],
        """
        14 15 28 29 2b 2c 2d 51 54 55 56 57 58 59 5a 5b 5c 5d 5e 5f 60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6f 70 74 \
        75 76 7c 7d 7f c2 c6 d0 d1 d2 d3 d4 d5 d8 d9 da db dc dd de df e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 ea eb ec ed ee ef \
        f1 f2 f3 f4 f5 f6 f8 f9 fa fb fc fd fe
        """
      ),
      ([0xf2], [], "70 7c 7d d0 e6"),
      ([0xf3], [], "12 16 5b 70"),
      (
        [0x66], [0x38],
        """
        00 01 02 03 04 05 06 07 08 09 0a 0b 10 14 15 17 1c 1d 1e 28 29 2a 2b 37 38 39 3a 3b 3c 3d 3e 3f 40 41 cf db dc \
        dd de df
        """
      ),
      ([0x66], [0x3a], "08 09 0c 0d 0e 0f 40 41 42 44 ce cf df"),
    ]

    @Test("the decoder states an alignment of 16 bytes for exactly the opcodes for which a processor requires it")
    func alignments() {
      for (prefix, map, opcodes) in Self.aligned {
        let wanted = Set(opcodes.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) })
        let found = (0x00...0xff as ClosedRange<UInt8>).filter { opcode in
          // Skips opcodes that are not in the list: escapes to other opcode maps, the groups of fxsave and cmpxchg16b,
          // and SHA instructions, which the measured processor does not have.
          if map.isEmpty, [0x38, 0x3a, 0xae, 0xc7].contains(opcode) { return false }
          return Self.decode(prefix + [0x0f] + map + [opcode, 0x07, 0, 0, 0, 0])?.alignment == 16
        }
        #expect(Set(found) == wanted, "\(prefix) \(map)")
      }
      for (bytes, alignment) in [
        ([0x0f, 0xae, 0x07], 16), ([0x0f, 0xae, 0x27], 64), ([0x0f, 0xae, 0x17], nil), ([0x0f, 0xc7, 0x0f], nil),
        ([0x48, 0x0f, 0xc7, 0x0f], 16), ([0x0f, 0xc7, 0x27], 64), ([0x0f, 0x58, 0xc1], nil),
        ([0xc5, 0xf8, 0x58, 0x07], nil),
      ] as [([UInt8], UInt64?)] {
        #expect(Self.decode(bytes)?.alignment == alignment, "\(bytes)")
      }
    }

    @Test("32-bit addresses, gathers and bit strings are decoded as unsupported")
    func unknownOperands() {
      for bytes in [
        [0x67, 0x48, 0x8b, 0x07], [0xc4, 0xe2, 0x71, 0x90, 0x04, 0x17], [0x48, 0x0f, 0xa3, 0x37],
        [0x66, 0x0f, 0xf7, 0xc1],
        [0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 0x01],
      ] as [[UInt8]] {
        #expect(Self.decode(bytes)?.hasUnknownOperand == true, "\(bytes)")
      }
      #expect(Self.decode([0x48, 0x8b, 0x07])?.hasUnknownOperand == false)
    }

    @Test("the operand of a fault is the operand whose address matches the fault address")
    func faulting() throws {
      var registers = [UInt64](repeating: 0, count: 17)
      registers[5] = 0x1000
      registers[4] = 0x2000
      let move = try #require(Self.decode([0xf3, 0xa4]))
      #expect(move.operand(faultingAt: 0x1000, registers: registers)?.base == 5)
      #expect(move.operand(faultingAt: 0x2000, registers: registers)?.base == 4)
      #expect(move.operand(faultingAt: 0x5000, registers: registers) == nil)
      let load = try #require(Self.decode([0x48, 0x8b, 0x47, 0x10]))
      #expect(load.operand(faultingAt: nil, registers: registers) == nil)
      registers[5] = 0xdead_beef_0000_0000
      #expect(load.operand(faultingAt: nil, registers: registers)?.base == 5)
      // A record with fewer registers than the instruction uses gives no operand.
      #expect(load.operand(faultingAt: 0x10, registers: []) == nil)
    }

    @Test("random bytes are decoded or rejected without a trap")
    func hostile() {
      var generator = SplitMix64(state: 1)
      for _ in 0..<200_000 {
        let count = Int.random(in: 0...16, using: &generator)
        var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        // The test often sets the first byte to a prefix or an escape, because these are rare in random bytes.
        let frequent: [UInt8] = [0x0f, 0x62, 0xc4, 0xc5, 0x66, 0x48, 0xff]
        if let first = frequent.randomElement(using: &generator), !bytes.isEmpty {
          bytes[0] = first
        }
        guard let instruction = Self.decode(bytes) else { continue }
        let registers = (0..<17).map { _ in UInt64.random(in: .min ... .max, using: &generator) }
        for operand in instruction.operands { _ = operand.text + operand.values(registers) }
        _ = instruction.operand(faultingAt: registers[0], registers: registers)
      }
    }

    @Test("objdump reads the same operands in glibc's code")
    func oracle() async throws {
      let directory = try TestDirectory()
      let listing = directory.path + "/listing"
      // The script prints the instructions with a memory operand in the middle of glibc, where there are string
      // functions, vector instructions and locks.
      let script = """
        objdump -d -M intel --insn-width=16 "$1" | grep -F '[' | grep -vE 'lea |nop|prefetch|[de]s:|endbr|\\{|ptwrite' > "$2"
        """
      try await run(["/bin/sh", "-c", script, "sh", "/lib/x86_64-linux-gnu/libc.so.6", listing])
      let lines = String(decoding: try Data(contentsOf: URL(fileURLWithPath: listing)), as: UTF8.self).split(
        separator: "\n")
      var compared = 0
      for line in lines {
        let columns = line.split(separator: "\t")
        guard columns.count >= 3, let start = columns[2].firstIndex(of: "["), let end = columns[2].firstIndex(of: "]")
        else { continue }
        let bytes = columns[1].split(separator: " ").compactMap { UInt8($0, radix: 16) }
        // Skips gathers, because their index is a vector register.
        let theirs = columns[2][start...end].replacing("+0x0]", with: "]")
        if theirs.contains("mm") { continue }
        let ours = Self.decode(bytes)?.operands.first
        // Skips EVEX instructions (0x62) that the decoder rejects: it does not decode their compressed displacements.
        if ours == nil, bytes.first == 0x62 || bytes.dropFirst().first == 0x62 { continue }
        compared += 1
        let text = ours.map { Self.likeObjdump($0, length: bytes.count) } ?? "none"
        if text != theirs { Issue.record("\(line): \(text)") }
      }
      #expect(compared > 50_000)
    }

    /// Returns an operand in objdump's notation, such as `[rax+rcx*8-0x10]`.
    ///
    /// For an address relative to rip, objdump does not add the length of the instruction.
    private static func likeObjdump(_ operand: MemoryOperand, length: Int) -> String {
      var terms: [String] = []
      var displacement = operand.displacement
      if let base = operand.base {
        terms.append(Architecture.x86_64.registerName(base))
        if base == Architecture.x86_64.programCounter { displacement = displacement &- UInt64(length) }
      }
      if let index = operand.index { terms.append("\(Architecture.x86_64.registerName(index))*\(operand.scale)") }
      let isNegative = displacement >> 63 == 1
      let amount = String(isNegative ? 0 &- displacement : displacement, radix: 16)
      var text = terms.joined(separator: "+")
      if displacement != 0 { text += (isNegative ? "-0x" : "+0x") + amount }
      return "[\(text)]"
    }

    private func run(_ words: [String]) async throws {
      let status = try await onThread { () throws -> Int32 in
        // Invariant: the array ends with nil, and is freed after the call.
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let code = unsafe posix_spawn(&pid, words[0], nil, nil, &arguments, environ)
        guard code == 0 else { throw SystemError("run '\(words[0])'", code: code) }
        var status: Int32 = 0
        guard unsafe waitpid(pid, &status, 0) == pid else { throw SystemError("waitpid") }
        return status
      }
      #expect(status == 0)
    }
  }
#endif
