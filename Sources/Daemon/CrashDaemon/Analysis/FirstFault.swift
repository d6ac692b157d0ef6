import CrashReport
import CrashRing
import Glibc

/// The original fault, if a signal handler of the program caught its signal and re-raised it.
///
/// faulthandler, glog and many loggers catch a signal, log it, and raise the signal again. In this case, the crash
/// record describes the call of `raise` and not the fault. When the fault started the program's handler, the kernel
/// pushed a signal frame onto the stack. The frames that unwinding reaches after the signal frame are the frames of the
/// fault.
struct FirstFault: Sendable {
  /// The record that the shield's handler would have written at the first fault.
  var record: CrashRecord
  /// The frames of the program's handler, innermost first.
  var handler: [CrashRecord.Frame]

  /// Finds the original fault if a handler of the program re-raised its signal.
  ///
  /// Returns nil if the process did not send the signal to itself, or if the stack has no signal frame of an earlier
  /// fault.
  init?(_ record: CrashRecord, pid: Int32) {
    guard CrashFacts.senderCodes.contains(record.code), record.senderPid == pid else { return nil }
    if let first = Self.pending(record) {
      self.record = first
      handler = []
      return
    }
    guard
      let number = record.frames.dropFirst().firstIndex(where: { $0.isExact && !$0.isAsync }),
      number <= record.frameHead || record.frameHead == 0
    else { return nil }
    guard let (first, sp) = Self.interrupted(record, at: number),
      first.signal == record.signal || record.signal == SIGABRT
    else { return nil }
    var found = first
    (found.senderPid, found.senderUid) = (0, 0)
    // Remove the code bytes, because they come from the call of `raise`. The record does not contain the code bytes at
    // the pc of the first fault.
    found.instruction = []
    found.frames.removeFirst(number)
    found.frameHead = max(0, record.frameHead - number)
    found.frameTotal = max(found.frames.count { !$0.isAsync }, record.frameTotal - number)
    // Keep only the part of the recorded stack from `sp` on. The recorded stack contains this part only if the handler
    // ran on the same stack as the fault.
    let skipped = Int(clamping: sp &- record.stackStart)
    found.stack = skipped < record.stack.count ? Array(record.stack[skipped...]) : []
    found.stackStart = sp
    self.record = found
    handler = Array(record.frames.prefix(number))
  }

  /// Returns a copy of the record with the signal and the registers that a signal frame contains; also returns the
  /// stack pointer of the interrupted code.
  ///
  /// The frame with the index `number` is that of the interrupted code. On x86-64, the frame before it is the
  /// trampoline, to which the program's handler returns.
  private static func interrupted(_ record: CrashRecord, at number: Int) -> (record: CrashRecord, sp: UInt64)? {
    let pc = record.frames[number].pc
    var first = record
    switch record.architecture {
    case .x86_64:
      let trampoline = record.frames[number - 1].pc
      guard let context = SignalFrame_x86_64.find(in: record, resumingAt: pc, trampoline: trampoline) else {
        return nil
      }
      (first.signal, first.code, first.address) = (context.signal, context.code, context.address)
      (first.registers, first.flags, first.errorCode) = (context.registers, context.flags, context.errorCode)
      (first.trapNumber, first.faultAddress) = (context.trapNumber, context.faultAddress)
    case .aarch64:
      guard let context = SignalFrame_aarch64.find(in: record, resumingAt: pc) else { return nil }
      (first.signal, first.code, first.address) = (context.signal, context.code, context.address)
      (first.registers, first.flags, first.errorCode) = (context.registers, context.flags, context.syndrome)
      (first.trapNumber, first.faultAddress) = (context.syndrome >> 26 & 0x3f, context.faultAddress)
    }
    return (first, first.register(record.architecture.stackPointer))
  }
}

extension FirstFault {
  /// Returns the original fault if the re-raised signal was blocked, so that the program's handler returned before the
  /// signal was delivered.
  ///
  /// In this case, the record contains the registers of the fault, and the processor's exception number.
  private static func pending(_ record: CrashRecord) -> CrashRecord? {
    var first = record
    (first.senderPid, first.senderUid) = (0, 0)
    if let told = pendingSignal(of: record) {
      (first.signal, first.code, first.address) = told
      return first
    }
    return record.trapNumber == 0 && bySelf(&first) ? first : nil
  }

  /// Returns the signal for the processor exception whose number the record contains; nil if the instruction at pc did
  /// not raise this exception.
  private static func pendingSignal(of record: CrashRecord) -> (signal: Int32, code: Int32, address: UInt64)? {
    let pc = record.register(record.architecture.programCounter)
    switch record.architecture {
    case .x86_64: return record.pendingException_x86_64?.signal(pc: pc, expecting: record.signal)
    case .aarch64: return record.pendingException_aarch64?.signal(pc: pc, expecting: record.signal)
    }
  }

  /// Decides from the instruction at pc alone whether this instruction raised the fault, because some kernels do not
  /// keep the exception number.
  ///
  /// Three kinds of instructions always fault: a trap, an access to the first page, and an access to a non-canonical
  /// address.
  private static func bySelf(_ first: inout CrashRecord) -> Bool {
    let architecture = first.architecture
    guard let instruction = MachineInstruction.decode(first.instruction, for: architecture),
      first.registers.indices.contains(architecture.programCounter)
    else { return false }
    let pc = first.registers[architecture.programCounter]
    let addresses = instruction.operands.compactMap { $0.address(first.registers) }
    switch (first.signal, architecture) {
    case (SIGILL, .x86_64) where first.instruction.starts(with: CrashRecord.ud2): (first.code, first.address) = (2, pc)
    case (SIGTRAP, .aarch64) where first.isBreakpoint:
      (first.code, first.address) = (CrashRecord.breakpointCode, pc)
    case (SIGSEGV, _):
      if let null = addresses.first(where: { $0 < DiagnosisRule.nullPage }) {
        (first.code, first.address, first.faultAddress) = (1, null, null)
        if architecture == .x86_64 { first.errorCode = instruction.isStore ? 6 : 4 }
      } else if let bad = addresses.first(where: { !architecture.isCanonical($0) }) {
        // For an access to a non-canonical address, only AArch64 reports the address; x86-64 does not.
        (first.code, first.address) = architecture == .x86_64 ? (128, 0) : (1, architecture.untagged(bad))
      } else {
        return false
      }
    default: return false
    }
    return true
  }
}

extension RingContents {
  /// Returns the crash record that the diagnosis rules read.
  ///
  /// If a handler of the program re-raised the signal, the result is the record of the first fault. Otherwise, the
  /// function returns `record` unchanged.
  func seen(_ record: CrashRecord) -> CrashRecord { FirstFault(record, pid: identity.pid)?.record ?? record }
}
