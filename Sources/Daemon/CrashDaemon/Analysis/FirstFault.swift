import CrashReport
import CrashRing
import Glibc

/// The original fault, if a handler of the program caught its signal and re-raised it.
///
/// faulthandler, glog and many loggers catch a signal, log it, and raise the signal again. In this case, the record
/// describes the call of `raise` and not the fault. When the fault started that handler, the kernel pushed a signal
/// frame onto the stack. The frames below the signal frame are the frames of the fault.
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
    #if arch(x86_64)
      let trampoline = record.frames[number - 1].pc
      guard
        let context = SignalFrame_x86_64.find(in: record, resumingAt: record.frames[number].pc, trampoline: trampoline),
        context.signal == record.signal || record.signal == SIGABRT
      else { return nil }
      var first = record
      first.signal = context.signal
      first.code = context.code
      first.address = context.address
      (first.senderPid, first.senderUid) = (0, 0)
      first.registers = context.registers
      first.flags = context.flags
      first.errorCode = context.errorCode
      first.trapNumber = context.trapNumber
      first.faultAddress = context.faultAddress
      // The record contains the code bytes at the call of `raise`, but not the code bytes at the first fault.
      first.instruction = []
      first.frames.removeFirst(number)
      first.frameHead = max(0, record.frameHead - number)
      first.frameTotal = max(first.frames.count { !$0.isAsync }, record.frameTotal - number)
      // The recorded stack contains the stack of the fault only if the handler ran on the same stack as the fault.
      let sp = context.registers[7]
      let skipped = Int(clamping: sp &- record.stackStart)
      first.stack = skipped < record.stack.count ? Array(record.stack[skipped...]) : []
      first.stackStart = sp
      self.record = first
      handler = Array(record.frames.prefix(number))
    #else
      return nil
    #endif
  }
}

extension FirstFault {
  /// Handles a program's handler that returned before the re-raised signal was delivered, because the signal was
  /// blocked.
  ///
  /// In this case, the record contains the registers of the fault, and the number of the processor's exception.
  private static func pending(_ record: CrashRecord) -> CrashRecord? {
    #if arch(x86_64)
      var first = record
      (first.senderPid, first.senderUid) = (0, 0)
      if let exception = record.pendingException_x86_64,
        let told = exception.signal(pc: record.registers[RegisterNames.pc], expecting: record.signal)
      {
        (first.signal, first.code, first.address) = told
        return first
      }
      return record.trapNumber == 0 && bySelf(&first) ? first : nil
    #else
      return nil
    #endif
  }

  #if arch(x86_64)
    /// Decides from the instruction alone whether it raised the fault, because some kernels do not keep the exception
    /// number.
    ///
    /// Three kinds of instructions always fault: a trap, an access to the first page, and an access to a non-canonical
    /// address.
    private static func bySelf(_ first: inout CrashRecord) -> Bool {
      guard let instruction = InstructionDecoder_x86_64.decode(first.instruction),
        first.registers.indices.contains(RegisterNames.pc)
      else { return false }
      let addresses = instruction.operands.compactMap { $0.address(first.registers) }
      switch first.signal {
      case SIGILL where first.instruction.starts(with: [0x0f, 0x0b]):
        (first.code, first.address) = (2, first.registers[RegisterNames.pc])
      case SIGSEGV:
        if let null = addresses.first(where: { $0 < DiagnosisRule.nullPage }) {
          (first.code, first.address, first.faultAddress) = (1, null, null)
          first.errorCode = instruction.isStore ? 6 : 4
        } else if addresses.contains(where: { !$0.isCanonical }) {
          (first.code, first.address) = (128, 0)
        } else {
          return false
        }
      default: return false
      }
      return true
    }
  #endif
}

extension RingContents {
  /// Returns the record that the rules read.
  ///
  /// If a handler of the program re-raised the signal, the result is the record of the first fault. Otherwise, the
  /// function returns `record` unchanged.
  func seen(_ record: CrashRecord) -> CrashRecord { FirstFault(record, pid: identity.pid)?.record ?? record }
}
