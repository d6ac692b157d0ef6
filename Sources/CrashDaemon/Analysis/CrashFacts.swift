import CrashReport
import CrashRing
import CrashSymbols
import Glibc

/// What the diagnosis rules look at.
struct CrashFacts: Sendable {
  var record: CrashRecord
  /// The process's own pid as it sees itself.
  var pid: Int32
  /// The text of an inlined `Swift runtime failure: …` at the faulting instruction.
  var runtimeFailure: String?

  var isMemoryFault: Bool { record.signal == SIGSEGV && (record.code == 1 || record.code == 2 || record.code == 4) }
  var isDenied: Bool { record.signal == SIGSEGV && record.code == 2 }
  /// The kernel's own signal without an address (general protection): si_addr is 0 and says nothing.
  var isGeneralProtection: Bool { record.signal == SIGSEGV && record.code == 128 }
  /// Sent by a process (kill, raise, abort), not made by the processor.
  var isSent: Bool { record.code <= 0 }
  var isSentByOther: Bool { isSent && record.senderPid != 0 && record.senderPid != pid }

  // Bits of the page fault error code of x86-64.
  var isWrite: Bool { record.errorCode & 2 != 0 }
  var isFetch: Bool { record.errorCode & 16 != 0 || record.address == pc }
  var access: String { isFetch ? "jump to" : isWrite ? "write to" : "read of" }

  var pc: UInt64 { register(16) }
  var stackPointer: UInt64 { register(7) }
  var address: String { Address(record.address).description }

  /// How far the faulting address is from where the stack was to grow.
  var isNearStackPointer: Bool {
    let below = stackPointer &- record.address
    let above = record.address &- stackPointer
    return stackPointer != 0 && (below <= 65_536 || above < 4_096)
  }

  /// Whether nothing can be read between the fault and the stack that begins above it, as in a guard page: also where
  /// one function with a large frame has moved the stack pointer far into it.
  var isBelowStack: Bool {
    let start = record.stackStart
    let reach: UInt64 = 65_536
    return !record.stack.isEmpty && record.address < start && start &- record.address <= reach
      && stackPointer <= start && start &- stackPointer <= reach
  }

  /// Whether the walk came to the first function of the thread, which it does not with a wrong stack pointer.
  var isStackWhole: Bool { record.unwindStop == 0 }

  func begins(with instruction: [UInt8]) -> Bool { record.instruction.starts(with: instruction) }

  /// hlt, cli, sti, in, out, and wrmsr/rdmsr: the kernel's alone.
  var isPrivilegedInstruction: Bool {
    guard let first = record.instruction.first else { return false }
    let isTwoByte =
      first == 0x0f && record.instruction.dropFirst().first.map { [0x30, 0x32, 0x01].contains($0) } == true
    return [0xf4, 0xfa, 0xfb, 0xec, 0xed, 0xee, 0xef, 0xe4, 0xe5, 0xe6, 0xe7].contains(first) || isTwoByte
  }

  /// The runtime's own words, the surest first.
  var reason: String {
    let texts = [record.message, runtimeFailure.map { "Swift runtime failure: \($0)" } ?? "", record.abortMessage]
    for text in texts {
      let trimmed = String(text.reversed().drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace))
      if !trimmed.isEmpty { return CleanText.clean(trimmed) }
    }
    guard record.signal == SIGABRT, !record.exceptionType.isEmpty else { return "" }
    let text = record.exceptionText.isEmpty ? "" : ": \(record.exceptionText)"
    return CleanText.clean("terminated by a C++ exception of type \(exceptionType)\(text)")
  }

  /// A type's mangled name is no symbol of its own; that of the variable that holds it is.
  var exceptionType: String {
    guard Self.isShort(record.exceptionType) else { return CleanText.line(record.exceptionType) }
    let name = Demangler.full("_ZTS" + record.exceptionType)
    let prefix = "typeinfo name for "
    return CleanText.line(name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : record.exceptionType)
  }

  /// Whether the name stays short when it is written out: each substitution (`S0_`, `T_`) can double it.
  private static func isShort(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    let substitutions = zip(bytes, bytes.dropFirst()).count { first, second in
      (first == UInt8(ascii: "S") || first == UInt8(ascii: "T"))
        && (second == UInt8(ascii: "_") || (0x30...0x39).contains(second) || (0x41...0x5a).contains(second))
    }
    return substitutions <= 8
  }

  /// The class of crash that the group's key begins with.
  var kind: String {
    if isSentByOther { return "signal from outside" }
    switch record.signal {
    case SIGILL, SIGTRAP: return "trap"
    case SIGSEGV, SIGBUS: return "bad access"
    case SIGABRT: return "abort"
    case SIGFPE: return "arithmetic"
    case SIGSYS: return "blocked system call"
    default: return SignalNames.name(of: Int(record.signal))
    }
  }

  private func register(_ number: Int) -> UInt64 {
    record.registers.indices.contains(number) ? record.registers[number] : 0
  }
}
