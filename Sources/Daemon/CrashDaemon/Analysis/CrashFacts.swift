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
  /// What was loaded where.
  var images: [RingContents.Image]
  /// Of the thread, innermost first.
  var frames: [CrashReport.Frame]
  /// What the instruction at pc does; nil where the record does not have it whole.
  var instruction: MachineInstruction?
  /// The place in memory that the fault is about.
  var operand: MemoryOperand?
  /// What of the process's memory the record holds.
  var memory: MemoryWords
  /// What tells a freed block from one in use.
  var heap: HeapFacts
  /// Which field a null pointer was asked for, as a guess.
  var field: CrashReport.AccessedField?
  /// Classes that the process protected, in the order of their numbers.
  var protectedClasses: [ProtectedClass] = []
  /// Objects that had left the quarantine, and whose addresses registers have.
  var ghosts: [Ghost] = []
  /// Objects that are in quarantine, and whose addresses registers have.
  var held: [Ghost] = []
  /// Those of the variables that have the address of `blockWithoutObject`, or that the functions there name.
  var expectedClasses: [ExpectedClass] = []
  /// The code that stands in front of pc in the image; empty where that was not read.
  var codeBefore: [UInt8] = []
  /// What a guard slot wrote of this crash; nil where none did.
  var page: PageEvidence?
  /// What the Swift runtime said as it stopped the program; empty where nothing of its text belongs to this crash.
  let message: String
  /// What it said before.
  let earlierMessages: String

  init(
    record: CrashRecord, pid: Int32, runtimeFailure: String? = nil, images: [RingContents.Image] = [],
    frames: [CrashReport.Frame] = [], words: [MemoryWords.Piece] = [], heap: HeapFacts = HeapFacts()
  ) {
    self.record = record
    self.pid = pid
    self.runtimeFailure = runtimeFailure
    self.images = images
    self.frames = frames
    self.heap = heap
    memory = MemoryWords([MemoryWords.Piece(start: record.stackStart, bytes: record.stack)] + words)
    #if arch(x86_64)
      instruction = InstructionDecoder_x86_64.decode(record.instruction)
    #endif
    let isFault = record.signal == SIGSEGV && record.code > 0
    let address = record.code == 128 ? nil : record.address
    let reports = RuntimeReports(record.message)
    // All members must have a value before a computed one is asked.
    message = Self.cause(
      in: reports, isStop: Self.isStop(record, pid: pid),
      isTrapWithReason: Self.isTrapWithReason(record, runtimeFailure),
      frames: frames)
    earlierMessages = message.isEmpty ? record.message : reports.earlier
    if isFault || isGeneralProtection {
      operand = instruction?.operand(faultingAt: address, registers: record.registers)
    }
  }

  /// Whether the program was stopped, rather than that it did something impossible.
  var isStop: Bool { Self.isStop(record, pid: pid) }

  private static func isStop(_ record: CrashRecord, pid: Int32) -> Bool {
    switch record.signal {
    case SIGABRT: !(senderCodes.contains(record.code) && record.senderPid != pid)
    case SIGILL, SIGTRAP: record.code > 0
    default: false
    }
  }

  /// Whether the instruction is one that swiftc put there with its reason: another signal at the same place has another
  /// cause.
  var isTrapWithReason: Bool { Self.isTrapWithReason(record, runtimeFailure) }

  private static func isTrapWithReason(_ record: CrashRecord, _ failure: String?) -> Bool {
    failure != nil && (record.signal == SIGILL || record.signal == SIGTRAP) && record.code > 0
  }

  /// A fault whose address the record does not have: it says no more than where it was.
  var isBareFault: Bool { record.isBare && (record.signal == SIGSEGV || record.signal == SIGBUS) && record.code > 0 }
  var isMemoryFault: Bool { record.signal == SIGSEGV && !record.isBare && [1, 2, 4].contains(record.code) }
  /// By the page's rights, or by its protection key (4).
  var isDenied: Bool { isMemoryFault && record.code != 1 }
  /// The kernel's own signal without an address (general protection): si_addr is 0 and says nothing.
  ///
  /// Where the address came from rsp or rbp, the processor calls it a fault of the stack, and Linux sends SIGBUS.
  var isGeneralProtection: Bool {
    (record.signal == SIGSEGV || record.signal == SIGBUS) && !record.isBare && record.code == 128
  }
  /// Sent (kill, raise, abort, a timer), not made by the processor.
  var isSent: Bool { record.code <= 0 }
  /// Whether the record has a sender: the other signals with si_code below 0 have something else in its place.
  var hasSender: Bool { Self.senderCodes.contains(record.code) }
  var isSentByOther: Bool { hasSender && record.senderPid != pid }
  /// The kernel has no number for a sender whom the process cannot see: one outside of its pid namespace.
  var isSentFromOutside: Bool { isSentByOther && record.senderPid == 0 }

  // SI_USER, SI_QUEUE, SI_TKILL.
  static let senderCodes: Set<Int32> = [0, -1, -6]
  // SI_TIMER: si_pid is the timer's id.
  var isTimer: Bool { record.code == -2 }

  /// Whether a null pointer was used to read or write, near null.
  var isNullAccess: Bool {
    isMemoryFault && !isFetch && record.address < DiagnosisRule.nullPage && isBaseNull
  }

  // Bits of the page fault error code of x86-64.
  var isWrite: Bool { record.errorCode & 2 != 0 }
  /// Whether the address was to be executed.
  ///
  /// Without bit 4 (old processors) the fault is at pc; one that writes there writes code.
  var isFetch: Bool { record.errorCode & 16 != 0 || record.address == pc && !isWrite }
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

  /// Whether an address that no pointer can have may be why a general protection fault came: not where the instruction
  /// is known, and all of its addresses are too.
  var mayBeNonCanonical: Bool {
    // An error code names a segment or an interrupt.
    guard record.errorCode == 0 else { return false }
    guard let instruction, !instruction.hasUnknownOperand else { return true }
    if instruction.operands.contains(where: { $0.address(record.registers)?.isCanonical != true }) { return true }
    guard let target = instruction.target else { return false }
    return target.value(record.registers, memory)?.isCanonical != true
  }

  /// The runtime's error messages, the surest first.
  var reason: String {
    let failure = isStop ? runtimeFailure.map { "Swift runtime failure: \($0)" } ?? "" : ""
    let texts = [isTrapWithReason ? failure : "", message, failure, record.abortMessage]
    for text in texts {
      var trimmed = text[...].drop(while: \.isWhitespace)
      while trimmed.last?.isWhitespace == true { trimmed.removeLast() }
      if !trimmed.isEmpty { return CleanText.clean(String(trimmed)) }
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

  var operandAddress: UInt64? { operand?.address(record.registers) }

  /// Whether a register of the operand holds next to nothing; also where the instruction is not known.
  var isBaseNull: Bool {
    guard let operand, !isFetch else { return true }
    let numbers = [operand.base, operand.index].compactMap { $0 }
    return numbers.isEmpty || numbers.contains { register($0) < DiagnosisRule.nullPage }
  }

  /// Where a `ret` would lead; nil where the instruction is none, or the record does not have the stack.
  var returnTarget: UInt64? {
    guard let instruction, instruction.kind == .ret else { return nil }
    return instruction.target?.value(record.registers, memory)
  }

  /// The image that holds an address, and the offset in it: `libshop.so+0x1234`.
  func place(of address: UInt64) -> String? {
    guard let image = images.first(where: { $0.start <= address && address < $0.end }) else { return nil }
    let name = image.path.split(separator: "/").last.map(String.init) ?? image.path
    return "\(name)+\(Address(address &- image.bias))"
  }

  /// Such as ` (in libshop.so+0x1234)`, for a sentence; empty when nothing is known.
  func what(at address: UInt64) -> String {
    if let place = place(of: address) { return " (in \(CleanText.line(place)))" }
    let stackEnd = record.stackStart &+ UInt64(record.stack.count)
    return record.stackStart <= address && address < stackEnd ? " (on the stack)" : ""
  }

  /// Whether the crash is in a deinit that the quarantine had put off: it runs on a thread of the shield's own.
  var isDeferredDeinit: Bool {
    frames.contains { $0.mangled == "cs_evict_deferred" || $0.function == "cs_evict_deferred" }
  }

  private func register(_ number: Int) -> UInt64 {
    record.registers.indices.contains(number) ? record.registers[number] : 0
  }
}
