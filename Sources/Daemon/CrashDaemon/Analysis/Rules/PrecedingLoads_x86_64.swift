#if arch(x86_64)
  /// The moves directly before an instruction: `mov rax, [rbx+0x18]`, `mov rdi, rax`.
  ///
  /// Code cannot be decoded backwards with certainty, so the result must be compared with memory.
  struct PrecedingLoads_x86_64 {
    private let code: [UInt8]
    private let registers: [UInt64]
    private let memory: MemoryWords

    /// `registers` and `memory` are those after the code.
    init(_ code: [UInt8], _ registers: [UInt64], _ memory: MemoryWords) {
      (self.code, self.registers, self.memory) = (code, registers, memory)
    }

    /// The end of the code that certainly ran as a whole: as far as its bytes show, no jump leads into it.
    ///
    /// Bytes that only look like a jump cut it too, also in `following`, as for a loop. Jumps from elsewhere are
    /// invisible.
    static func straight(_ before: [UInt8], following: [UInt8]) -> [UInt8] {
      var start = 0
      let code = before + following
      for at in code.indices {
        // One byte of distance; four, after one or two of opcode.
        let (length, bytes) =
          switch code[at] {
          case 0x70...0x7f, 0xe0...0xe3, 0xeb: (2, 1)
          case 0xe9: (5, 4)
          case 0x0f where code.indices.contains(at + 1) && 0x80...0x8f ~= code[at + 1]: (6, 4)
          default: (0, 0)
          }
        guard length > 0, at + length <= code.count else { continue }
        let bits = code[at + length - bytes..<at + length].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let distance = bytes == 1 ? Int(Int8(truncatingIfNeeded: bits)) : Int(Int32(bitPattern: bits))
        let target = at + length + distance
        if 0...before.count ~= target { start = max(start, target) }
      }
      return Array(before[start...])
    }

    struct Move: Equatable {
      var destination: Int
      /// A register, or the base of the load.
      var source: Int
      /// Nil: the register itself.
      var displacement: UInt64?
    }

    /// The pointer that a register was loaded through, and the loaded address; nil where the code does not show it.
    func origin(of register: Int) -> (pointer: UInt64, address: UInt64)? { origin(of: register, code[...], []) }

    /// `written`: registers that later code has changed.
    private func origin(
      of register: Int, _ code: ArraySlice<UInt8>, _ written: Set<Int>
    ) -> (pointer: UInt64, address: UInt64)? {
      guard let (move, rest) = Self.last(of: code) else { return nil }
      let later = written.union([move.destination])
      guard move.destination == register else { return origin(of: register, rest, later) }
      guard let displacement = move.displacement else { return origin(of: move.source, rest, later) }
      return value(of: move.source, rest, later).map { ($0, $0 &+ displacement) }
    }

    /// The value of a register after `code`.
    private func value(of register: Int, _ code: ArraySlice<UInt8>, _ written: Set<Int>) -> UInt64? {
      guard written.contains(register) else { return registers.indices.contains(register) ? registers[register] : nil }
      guard let (move, rest) = Self.last(of: code) else { return nil }
      let later = written.union([move.destination])
      guard move.destination == register else { return value(of: register, rest, later) }
      let source = value(of: move.source, rest, later)
      guard let displacement = move.displacement else { return source }
      return source.flatMap { memory.word(at: $0 &+ displacement) }
    }

    /// The move at the end of the code, and the code before it.
    static func last(of code: ArraySlice<UInt8>) -> (move: Move, rest: ArraySlice<UInt8>)? {
      for length in 3...8 where code.count >= length {
        if let move = move(Array(code.suffix(length))) { return (move, code.dropLast(length)) }
      }
      return nil
    }

    /// The move that all the bytes encode.
    private static func move(_ bytes: [UInt8]) -> Move? {
      let (prefix, opcode, form) = (bytes[0], bytes[1], bytes[2])
      // REX.W, without an index.
      guard prefix & 0xfa == 0x48 else { return nil }
      let number = { (bits: UInt8, extended: Bool) in
        InstructionDecoder_x86_64.dwarf[Int(bits & 7) + (extended ? 8 : 0)]
      }
      let register = number(form >> 3, prefix & 4 != 0)
      let other = number(form, prefix & 1 != 0)
      let mode = form >> 6
      if mode == 3 {
        guard bytes.count == 3 else { return nil }
        switch opcode {
        case 0x8b: return Move(destination: register, source: other)
        case 0x89: return Move(destination: other, source: register)
        default: return nil
        }
      }
      let hasSIB = form & 7 == 4
      // rsp and r12 take another byte, which may name an index; with mode 0 and rbp or r13 there is no base.
      guard opcode == 0x8b, mode != 0 || form & 7 != 5, !hasSIB || bytes.count > 3 && bytes[3] & 0x3f == 0x24 else {
        return nil
      }
      let displacement = bytes.dropFirst(hasSIB ? 4 : 3)
      guard displacement.count == [0, 1, 4][Int(mode)] else { return nil }
      let bits = displacement.reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      let distance = mode == 1 ? Int64(Int8(truncatingIfNeeded: bits)) : Int64(Int32(bitPattern: bits))
      return Move(destination: register, source: other, displacement: UInt64(bitPattern: distance))
    }
  }
#endif
