import CrashReport
import CrashRing

/// The frame that Linux pushes onto the stack before it calls a signal handler (struct rt_sigframe).
///
/// The frame consists of the address of the trampoline (the return address of the handler), the context of the
/// interrupted code, and the siginfo.
struct SignalFrame_x86_64: Sendable, Equatable {
  var signal: Int32
  var code: Int32
  var address: UInt64
  /// The registers of the interrupted code, indexed by their DWARF numbers.
  var registers: [UInt64]
  var flags: UInt64
  var errorCode: UInt64
  var trapNumber: UInt64
  var faultAddress: UInt64

  // The following offsets start at the stack slot that contains the trampoline's address. `general` is the offset of
  // the registers in struct ucontext, and `siginfo` is the offset of the siginfo.
  private static let general: UInt64 = 8 + 40
  private static let siginfo: UInt64 = 8 + 304
  /// The index of each register in the context, indexed by the register's DWARF number.
  ///
  /// The order in the context is r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
  private static let order: [UInt64] = [13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16]
  private static let flagsIndex: UInt64 = 17
  private static let errorIndex: UInt64 = 19
  private static let trapIndex: UInt64 = 20
  private static let addressIndex: UInt64 = 22
  private static let signals: Set<Int32> = [4, 5, 7, 8, 11, 31]

  /// Finds the innermost signal frame on the record's stack that resumes at `pc`; nil if no such frame fits the
  /// record's signal.
  static func find(in record: CrashRecord, resumingAt pc: UInt64, trampoline: UInt64) -> SignalFrame_x86_64? {
    let memory = MemoryWords([MemoryWords.Piece(start: record.stackStart, bytes: record.stack)])
    let bytes = UInt64(record.stack.count)
    guard bytes >= siginfo + 24 else { return nil }
    let first = record.stackStart % 8 == 0 ? 0 : 8 - record.stackStart % 8
    for offset in stride(from: first, through: bytes - (siginfo + 24), by: 8) {
      let start = record.stackStart &+ offset
      guard memory.word(at: start) == trampoline, memory.word(at: start &+ general &+ 8 * 16) == pc,
        let frame = SignalFrame_x86_64(at: start, memory, expecting: record.signal)
      else { continue }
      return frame
    }
    return nil
  }

  /// Reads a signal frame; nil if no processor fault raised the signal.
  private init?(at start: UInt64, _ memory: MemoryWords, expecting expected: Int32) {
    func word(_ index: UInt64) -> UInt64? { memory.word(at: start &+ Self.general &+ 8 * index) }
    let registers = Self.order.compactMap(word)
    guard registers.count == Self.order.count, let flags = word(Self.flagsIndex), let error = word(Self.errorIndex),
      let trap = word(Self.trapIndex), let fault = word(Self.addressIndex)
    else { return nil }
    self.registers = registers
    self.flags = flags
    errorCode = error
    trapNumber = trap
    faultAddress = fault
    // Check the siginfo before it is used. The kernel writes siginfo only if the handler was installed with SA_SIGINFO.
    // For another handler, this part of the stack contains older data.
    let head = memory.word(at: start &+ Self.siginfo)
    let rest = memory.word(at: start &+ Self.siginfo &+ 8)
    if head == UInt64(UInt32(bitPattern: expected)), let rest,
      let address = memory.word(at: start &+ Self.siginfo &+ 16)
    {
      (signal, code, self.address) = (expected, Int32(truncatingIfNeeded: rest), address)
      // Return nil for other signals and values of si_code, because software sent such a signal, and the exception in
      // the frame is that of an earlier fault.
      guard code > 0, Self.signals.contains(expected) else { return nil }
      return
    }
    let exception = Exception_x86_64(number: trap, error: error, address: fault)
    guard Self.isTied(trap: trap, fault, registers),
      // For the exception number 0, require RF, because the number means a division error or that there was no
      // exception.
      trap != 0 || flags & Exception_x86_64.resumeFlag != 0,
      let told = exception.signal(pc: registers[Architecture.x86_64.programCounter], expecting: expected)
    else { return nil }
    (signal, code, address) = told
  }

  /// Whether the code at pc could have raised the exception: the address of a page fault must be below 65,536 or near
  /// the value of a register.
  ///
  /// If software sent the signal, the exception in the frame is that of an earlier fault.
  static func isTied(trap: UInt64, _ address: UInt64, _ registers: [UInt64]) -> Bool {
    trap != 14 || address < 65_536
      || registers.contains { min($0 &- address, address &- $0) < 4_096 }
  }
}
