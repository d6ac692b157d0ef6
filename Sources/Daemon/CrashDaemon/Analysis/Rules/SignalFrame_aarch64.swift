import CrashReport
import CrashRing

/// The frame that Linux pushes onto the stack before it calls a signal handler on AArch64 (struct rt_sigframe).
///
/// The frame consists of the siginfo and the context of the interrupted code.
struct SignalFrame_aarch64: Sendable, Equatable {
  var signal: Int32
  var code: Int32
  var address: UInt64
  /// The registers of the interrupted code, indexed by their DWARF numbers.
  var registers: [UInt64]
  var flags: UInt64
  var syndrome: UInt64
  var faultAddress: UInt64

  // The following offsets are relative to the start of the frame. The context (struct sigcontext) is at offset 176 of
  // struct ucontext, and contains the fault address, x0 to x30, sp, pc and pstate.
  private static let context: UInt64 = 128 + 176
  private static let general = context + 8
  private static let registerCount: UInt64 = 33
  private static let flags = general + 8 * registerCount
  /// The offset at which the kernel appends further records after the registers; the records are aligned to 16 bytes.
  private static let records: UInt64 = 128 + 464
  private static let recordLimitBytes: UInt64 = 4_096
  /// The magic number at the start of the record that contains the syndrome.
  private static let syndromeMark: UInt32 = 0x4553_5201
  private static let signals: Set<Int32> = [4, 5, 7, 8, 11, 31]

  /// Finds the innermost signal frame on the record's stack that resumes at `pc`; nil if no such frame fits the
  /// record's signal.
  static func find(in record: CrashRecord, resumingAt pc: UInt64) -> SignalFrame_aarch64? {
    let memory = MemoryWords([MemoryWords.Piece(start: record.stackStart, bytes: record.stack)])
    let bytes = UInt64(record.stack.count)
    guard bytes >= flags + 8 else { return nil }
    // Test only addresses that are multiples of 16. The frame begins at the stack pointer of the handler, which is
    // always a multiple of 16.
    let first = (16 &- record.stackStart & 15) & 15
    for offset in stride(from: first, through: bytes - (flags + 8), by: 16) {
      let start = record.stackStart &+ offset
      guard memory.word(at: start &+ general &+ 8 * (registerCount - 1)) == pc,
        let frame = SignalFrame_aarch64(at: start, memory, expecting: record.signal)
      else { continue }
      return frame
    }
    return nil
  }

  /// Reads a signal frame; nil if no processor fault raised the signal.
  private init?(at start: UInt64, _ memory: MemoryWords, expecting expected: Int32) {
    let registers = (0..<Self.registerCount).compactMap { memory.word(at: start &+ Self.general &+ 8 * $0) }
    guard registers.count == Int(Self.registerCount), let flags = memory.word(at: start &+ Self.flags),
      let fault = memory.word(at: start &+ Self.context)
    else { return nil }
    self.registers = registers
    self.flags = flags
    syndrome = Self.syndrome(from: start, memory)
    faultAddress = fault
    // Check the siginfo before it is used. The kernel writes siginfo only if the handler was installed with SA_SIGINFO.
    // For another handler, this part of the stack contains older data.
    let head = memory.word(at: start)
    if let head, head & 0xffff_ffff == UInt64(UInt32(bitPattern: expected)), head >> 32 == 0,
      let rest = memory.word(at: start &+ 8), let address = memory.word(at: start &+ 16)
    {
      (signal, code, self.address) = (expected, Int32(truncatingIfNeeded: rest), address)
      // Return nil for other signals and values of si_code, because software sent such a signal, and the exception in
      // the frame is that of an earlier fault.
      guard code > 0, Self.signals.contains(expected) else { return nil }
      return
    }
    let pc = registers[registers.count - 1]
    let exception = Exception_aarch64(syndrome: syndrome, address: fault)
    guard let told = exception.signal(pc: pc, expecting: expected), Self.isTied(exception, fault, registers) else {
      return nil
    }
    (signal, code, address) = told
  }

  /// Returns the syndrome in the records after the registers; 0 if no record contains a syndrome.
  private static func syndrome(from start: UInt64, _ memory: MemoryWords) -> UInt64 {
    var offset: UInt64 = 0
    while offset < recordLimitBytes, let head = memory.word(at: start &+ records &+ offset) {
      let size = head >> 32
      if UInt32(truncatingIfNeeded: head) == syndromeMark {
        return memory.word(at: start &+ records &+ offset &+ 8) ?? 0
      }
      guard size >= 16, size % 16 == 0 else { return 0 }
      offset += size
    }
    return 0
  }

  /// Whether the code at pc could have raised the exception: the address of a data or instruction abort must be below
  /// 65,536 or near the value of a register.
  ///
  /// If software sent the signal, the exception in the frame is that of an earlier fault.
  private static func isTied(_ exception: Exception_aarch64, _ address: UInt64, _ registers: [UInt64]) -> Bool {
    switch exception.kind {
    case .access, .fetch:
      address < 65_536
        || registers.contains {
          let value = Architecture.aarch64.untagged($0)
          return min(value &- address, address &- value) < 4_096
        }
    default: true
    }
  }
}
