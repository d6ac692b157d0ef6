/// Builds the context structure for AArch64 from the registers in a report.
///
/// The layout is `MDRawContextARM64_Old` of Breakpad's `minidump_cpu_arm64.h`, which Breakpad writes on Linux.
/// Breakpad, Sentry's rust-minidump, LLDB and PyPI's minidump read this layout. LLDB reads no other layout for AArch64.
enum MinidumpContext_aarch64 {
  /// The value MD_CPU_ARCHITECTURE_ARM64_OLD, which minidumps with this layout contain.
  static let processor: UInt16 = 0x8003
  private static let size = 796
  /// The flags MD_CONTEXT_ARM64_OLD | MD_CONTEXT_ARM64_INTEGER_OLD, in 64 bits.
  private static let flags: UInt64 = 0x8000_0002
  private static let registersOffset = 8
  private static let cpsrOffset = 272

  /// Returns the bytes of the structure.
  ///
  /// Registers that the report lacks become zero. The vector registers are zero.
  static func bytes(_ registers: [String: Address]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    func set(_ value: UInt64, at offset: Int, count: Int) {
      for index in 0..<count { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }
    set(flags, at: 0, count: 8)
    for (number, name) in Architecture.aarch64.registerNames.enumerated() {
      set(registers[name]?.rawValue ?? 0, at: registersOffset + 8 * number, count: 8)
    }
    set(registers[Architecture.aarch64.flagsName]?.rawValue ?? 0, at: cpsrOffset, count: 4)
    return bytes
  }
}
