/// Builds the `CONTEXT` structure for AMD64 from the registers in a report.
enum MinidumpContext_x86_64 {
  /// The processor architecture PROCESSOR_ARCHITECTURE_AMD64.
  static let processor: UInt16 = 9
  private static let size = 1_232
  private static let flagsOffset = 0x30
  private static let eflagsOffset = 0x44
  /// The flags CONTEXT_AMD64 | CONTEXT_CONTROL | CONTEXT_INTEGER.
  private static let flags: UInt64 = 0x10_0003
  private static let offsets = [
    "rax": 0x78, "rcx": 0x80, "rdx": 0x88, "rbx": 0x90, "rsp": 0x98, "rbp": 0xa0, "rsi": 0xa8, "rdi": 0xb0, "r8": 0xb8,
    "r9": 0xc0, "r10": 0xc8, "r11": 0xd0, "r12": 0xd8, "r13": 0xe0, "r14": 0xe8, "r15": 0xf0, "rip": 0xf8,
  ]

  /// Returns the bytes of the structure.
  ///
  /// Registers that the report lacks become zero.
  static func bytes(_ registers: [String: Address]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    func set(_ value: UInt64, at offset: Int, count: Int) {
      for index in 0..<count { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }
    set(flags, at: flagsOffset, count: 4)
    set(registers["rflags"]?.rawValue ?? 0, at: eflagsOffset, count: 4)
    for (name, offset) in offsets { set(registers[name]?.rawValue ?? 0, at: offset, count: 8) }
    return bytes
  }
}
