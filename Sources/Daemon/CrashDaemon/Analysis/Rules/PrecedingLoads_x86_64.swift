/// Decodes the x86-64 moves that directly precede an instruction, such as `mov rax, [rbx+0x18]` and `mov rdi, rax`.
enum PrecedingLoads_x86_64 {
  /// Returns the end of the code before an instruction, from the last target of a jump on.
  ///
  /// All instructions of this part certainly ran, because no jump in these bytes leads into its middle.
  ///
  /// Bytes that only look like a jump are treated as a jump, because instruction boundaries are unknown. The function
  /// also searches for jumps in `following`, because a loop can jump back. The function cannot detect jumps from code
  /// outside these bytes.
  static func straight(_ before: [UInt8], following: [UInt8]) -> [UInt8] {
    var start = 0
    let code = before + following
    for at in code.indices {
      // `length` is the length of the jump instruction in bytes. `bytes` is the size of the jump's relative distance: 1
      // or 4 bytes.
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

  /// Returns the move at the end of the code, and the code before this move.
  static func last(of code: ArraySlice<UInt8>) -> (move: PrecedingLoads.Move, rest: ArraySlice<UInt8>)? {
    for length in 3...8 where code.count >= length {
      if let move = move(Array(code.suffix(length))) { return (move, code.dropLast(length)) }
    }
    return nil
  }

  /// Decodes a move instruction that consists of all the bytes; nil if the bytes are not exactly one move.
  private static func move(_ bytes: [UInt8]) -> PrecedingLoads.Move? {
    let (prefix, opcode, form) = (bytes[0], bytes[1], bytes[2])
    // Require the prefix REX.W. The bit REX.X, which belongs to an index register, must not be set.
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
      case 0x8b: return PrecedingLoads.Move(destination: register, source: other)
      case 0x89: return PrecedingLoads.Move(destination: other, source: register)
      default: return nil
      }
    }
    let hasSIB = form & 7 == 4
    // If rsp or r12 is the base, a SIB byte is required, and this byte must not select an index register. In mode 0,
    // the encoding of rbp and r13 means that there is no base register.
    guard opcode == 0x8b, mode != 0 || form & 7 != 5, !hasSIB || bytes.count > 3 && bytes[3] & 0x3f == 0x24 else {
      return nil
    }
    let displacement = bytes.dropFirst(hasSIB ? 4 : 3)
    guard displacement.count == [0, 1, 4][Int(mode)] else { return nil }
    let bits = displacement.reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    let distance = mode == 1 ? Int64(Int8(truncatingIfNeeded: bits)) : Int64(Int32(bitPattern: bits))
    return PrecedingLoads.Move(destination: register, source: other, displacement: UInt64(bitPattern: distance))
  }
}
