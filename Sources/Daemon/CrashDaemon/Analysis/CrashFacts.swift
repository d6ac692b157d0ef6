import CrashReport
import CrashRing
import CrashSymbols
import Glibc

/// The facts about a crash that the diagnosis rules read.
struct CrashFacts: Sendable {
  var record: CrashRecord
  /// The pid that the process has in its own pid namespace.
  var pid: Int32
  /// The reason of a trap, from the name of the inlined function `Swift runtime failure: …` at the faulting
  /// instruction.
  var runtimeFailure: String?
  /// The loaded images, with their addresses.
  var images: [RingContents.Image]
  /// The frames of the crashing thread, innermost first.
  var frames: [CrashReport.Frame]
  /// The instruction at pc; nil if the record does not contain all bytes of the instruction.
  var instruction: MachineInstruction?
  /// The memory operand that faulted.
  var operand: MemoryOperand?
  /// The parts of the process's memory that the record contains.
  var memory: MemoryWords
  /// Facts about the heap with which the rules distinguish a freed block from a block in use.
  var heap: HeapFacts
  /// The field that the program accessed through a pointer that was probably null.
  var field: CrashReport.AccessedField?
  /// The classes that the process protected against use-after-free, in the order of their numbers in the ring.
  var protectedClasses: [ProtectedClass] = []
  /// The records of freed objects whose address is in a register and that had left the quarantine, which keeps freed
  /// objects for a while.
  var freedRecords: [FreedRecord] = []
  /// The records of freed objects whose address is in a register and that are still in quarantine.
  var held: [FreedRecord] = []
  /// The classes that the code can expect at `objectInQuestion`, the address of the supposed object, according to the
  /// variables in scope or the code of functions.
  var expectedClasses: [ExpectedClass] = []
  /// The bytes of code before pc in the image; empty if crashd did not read them.
  var codeBefore: [UInt8] = []
  /// The incident at a guard page that led to this crash; nil if no access to a guard page caused the crash.
  var page: PageEvidence?
  /// The runtime error message that belongs to this crash; empty if no recorded message belongs to this crash.
  let message: String
  /// The recorded runtime error messages that do not belong to this crash.
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
    instruction = MachineInstruction.decode(record.instruction, for: record.architecture)
    let isFault = record.signal == SIGSEGV && record.code > 0
    let reports = RuntimeReports(record.message)
    // Call static functions here, because Swift allows computed properties only after all stored properties are set.
    message = Self.cause(
      in: reports, isStop: Self.isStop(record, pid: pid),
      isTrapWithReason: Self.isTrapWithReason(record, runtimeFailure),
      frames: frames)
    earlierMessages = message.isEmpty ? record.message : reports.earlier
    if isFault || isGeneralProtection {
      operand = instruction?.operand(
        faultingAt: isGeneralProtection && !isAddressReported ? nil : record.address, registers: record.registers)
    }
  }

  /// Whether the program stopped itself on purpose, for example with a trap instruction or abort().
  var isStop: Bool { Self.isStop(record, pid: pid) }

  private static func isStop(_ record: CrashRecord, pid: Int32) -> Bool {
    switch record.signal {
    case SIGABRT: !(senderCodes.contains(record.code) && record.senderPid != pid)
    case SIGILL, SIGTRAP: record.code > 0
    default: false
    }
  }

  /// Whether the crash is a trap instruction for which swiftc emitted a reason.
  ///
  /// The signal must be the signal that a trap instruction raises, because another signal at the same address has
  /// another cause.
  var isTrapWithReason: Bool { Self.isTrapWithReason(record, runtimeFailure) }

  private static func isTrapWithReason(_ record: CrashRecord, _ failure: String?) -> Bool {
    failure != nil && (record.signal == SIGILL || record.signal == SIGTRAP) && record.code > 0
  }

  /// Whether this is a memory fault whose record contains the code location but not the faulting address.
  var isBareFault: Bool { record.isBare && (record.signal == SIGSEGV || record.signal == SIGBUS) && record.code > 0 }
  var isMemoryFault: Bool {
    record.signal == SIGSEGV && !record.isBare && [1, 2, 4].contains(record.code) && !isGeneralProtection
  }
  /// Whether the processor refused a jump to an address that is not a multiple of 4.
  ///
  /// Only AArch64 refuses such a jump.
  var isMisalignedFetch: Bool {
    architecture == .aarch64 && record.signal == SIGBUS && record.code == 1 && !record.isBare
      && syndrome.kind == .misalignedPC
  }
  /// Whether the permissions of the page (si_code 2) or its protection key (si_code 4) forbade the access.
  var isDenied: Bool { isMemoryFault && record.code != 1 }
  /// Whether the kernel sent the signal for a general protection fault, or for an access to an address that no pointer
  /// can have on AArch64.
  ///
  /// For a general protection fault, si_addr is 0 and is not an address. If the faulting address is computed from rsp
  /// or rbp, the processor reports a stack fault instead. For a stack fault, Linux sends SIGBUS. On AArch64, Linux
  /// sends SIGSEGV with SEGV_MAPERR and the address. Under qemu-user, the address is 0.
  var isGeneralProtection: Bool {
    switch record.architecture {
    case .x86_64:
      return (record.signal == SIGSEGV || record.signal == SIGBUS) && !record.isBare && record.code == 128
    case .aarch64:
      guard record.signal == SIGSEGV, !record.isBare, record.code == 1, !isFetch else { return false }
      if record.address != 0 { return !record.architecture.isCanonical(record.address) }
      return instruction?.operands.contains { operand in
        operand.address(record.registers).map { !record.architecture.isCanonical($0) } ?? false
      } ?? false
    }
  }

  /// Whether the processor could have raised the signal because the instruction is privileged.
  var isInstructionRefused: Bool {
    switch record.architecture {
    case .x86_64: isGeneralProtection
    case .aarch64: record.signal == SIGILL && record.code > 0
    }
  }

  /// Whether si_addr contains the address whose access caused a general protection fault.
  private var isAddressReported: Bool { record.architecture == .aarch64 && record.address != 0 }
  /// Whether software sent the signal (kill, raise, abort or a timer), and not the processor.
  var isSent: Bool { record.code <= 0 }
  /// Whether the field `senderPid` (si_pid) contains the pid of a sender; for other negative values of si_code, the
  /// field has another meaning.
  var hasSender: Bool { Self.senderCodes.contains(record.code) }
  var isSentByOther: Bool { hasSender && record.senderPid != pid }
  /// Whether the sender is outside the process's pid namespace.
  ///
  /// For such a sender, the kernel reports pid 0.
  var isSentFromOutside: Bool { isSentByOther && record.senderPid == 0 }

  // The values of si_code for which siginfo contains a sender: SI_USER, SI_QUEUE and SI_TKILL.
  static let senderCodes: Set<Int32> = [0, -1, -6]
  // Whether a POSIX timer sent the signal (SI_TIMER). For this si_code, si_pid contains the ID of the timer.
  var isTimer: Bool { record.code == -2 }

  /// Whether the program dereferenced a null pointer at a small offset.
  var isNullAccess: Bool {
    isMemoryFault && !isFetch && record.address < DiagnosisRule.nullPage && isBaseNull
  }

  /// Whether the processor faulted when it wrote to the faulting address.
  ///
  /// On x86-64, bit 1 of the page fault's error code is set for a write. On AArch64, the WnR bit of the syndrome is set
  /// for a write; if the record has no syndrome, the instruction shows whether it stores.
  var isWrite: Bool {
    switch record.architecture {
    case .x86_64: record.errorCode & 2 != 0
    case .aarch64: syndrome.syndrome == 0 ? instruction?.isStore == true : syndrome.isWrite
    }
  }
  /// Whether the processor faulted when it fetched an instruction from the faulting address.
  ///
  /// Old processors do not set bit 4 of the error code. Therefore, the result is also true if the faulting address
  /// equals pc and the access was not a write. A write is excluded, because code can write to its own address.
  var isFetch: Bool {
    let isMarked =
      switch record.architecture {
      case .x86_64: record.errorCode & 16 != 0
      case .aarch64: syndrome.kind == .fetch
      }
    return isMarked || record.address == pc && !isWrite
  }
  private var syndrome: Exception_aarch64 {
    Exception_aarch64(syndrome: record.errorCode, address: record.faultAddress)
  }
  var access: String { isFetch ? "jump to" : isWrite ? "write to" : "read of" }

  var architecture: Architecture { record.architecture }
  var pc: UInt64 { record.register(architecture.programCounter) }
  var stackPointer: UInt64 { record.register(architecture.stackPointer) }
  var address: String { Address(record.address).description }

  /// Whether the faulting address is at most 64 KiB below or less than 4 KiB above the stack pointer.
  var isNearStackPointer: Bool {
    let below = stackPointer &- record.address
    let above = record.address &- stackPointer
    return stackPointer != 0 && (below <= 65_536 || above < 4_096)
  }

  /// Whether the faulting address is below the recorded stack, with no readable memory between this address and the
  /// stack, as in the stack's guard page.
  ///
  /// The result is also true for a function with a large frame, although such a function moves the stack pointer far
  /// into the guard page.
  var isBelowStack: Bool {
    let start = record.stackStart
    let reach: UInt64 = 65_536
    return !record.stack.isEmpty && record.address < start && start &- record.address <= reach
      && stackPointer <= start && start &- stackPointer <= reach
  }

  /// Whether unwinding reached the thread's first function, which is only possible if the stack pointer is correct.
  var isStackWhole: Bool { record.unwindStop == 0 }

  func begins(with instruction: [UInt8]) -> Bool { record.instruction.starts(with: instruction) }

  /// Whether a non-canonical address can explain a general protection fault; false if all addresses of the operand are
  /// canonical.
  var mayBeNonCanonical: Bool {
    if architecture == .aarch64 { return true }
    // Exclude a nonzero error code, because it shows that a segment or an interrupt caused the fault, and not an
    // address.
    guard record.errorCode == 0 else { return false }
    guard let instruction, !instruction.hasUnknownOperand else { return true }
    if instruction.operands.contains(where: { !isCanonical($0.address(record.registers)) }) { return true }
    guard let target = instruction.target else { return false }
    return !isCanonical(target.value(record.registers, memory))
  }

  /// The most reliable reason for the crash among the reasons that the runtime, glibc and the compiler give.
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

  /// The demangled exception type.
  ///
  /// The record contains only the mangled type name, which is not a complete symbol. The prefix `_ZTS` makes it the
  /// symbol of the type_info name, which can be demangled.
  var exceptionType: String {
    guard Self.isShort(record.exceptionType) else { return CleanText.line(record.exceptionType) }
    let name = Demangler.full("_ZTS" + record.exceptionType)
    let prefix = "typeinfo name for "
    return CleanText.line(name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : record.exceptionType)
  }

  /// Whether the name has few substitutions (`S0_`, `T_`), each of which can double the length of the demangled name.
  private static func isShort(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    let substitutions = zip(bytes, bytes.dropFirst()).count { first, second in
      (first == UInt8(ascii: "S") || first == UInt8(ascii: "T"))
        && (second == UInt8(ascii: "_") || (0x30...0x39).contains(second) || (0x41...0x5a).contains(second))
    }
    return substitutions <= 8
  }

  /// The kind of the crash, which is the first part of the key of the crash group.
  var kind: String {
    if isSentByOther { return "signal from outside: \(SignalNames.name(of: Int(record.signal)))" }
    switch record.signal {
    case SIGILL, SIGTRAP: return "trap"
    case SIGSEGV, SIGBUS: return "bad access"
    case SIGABRT: return "abort"
    case SIGFPE: return "arithmetic"
    case SIGSYS: return "blocked system call"
    default: return SignalNames.name(of: Int(record.signal))
    }
  }

  /// The check that failed, which is the second part of the group's key; unknown for memory faults and signals from
  /// outside.
  var check: FailedCheck {
    guard !isSentByOther, [SIGILL, SIGTRAP, SIGABRT].contains(record.signal) else { return .unknown }
    return FailedCheck(failure: isTrapWithReason ? runtimeFailure : nil, message: message)
  }

  var operandAddress: UInt64? { operand?.address(record.registers) }

  /// Whether a register of the operand is null or a small number.
  ///
  /// The value is also true for an instruction fetch, for an operand without registers, and if the operand is unknown.
  var isBaseNull: Bool {
    guard let operand, !isFetch else { return true }
    let numbers = [operand.base, operand.index].compactMap { $0 }
    return numbers.isEmpty || numbers.contains { record.register($0) < DiagnosisRule.nullPage }
  }

  /// The return address that the `ret` instruction at pc reads from the stack.
  ///
  /// The value is nil if another instruction is at pc, or if the record lacks the part of the stack that contains the
  /// return address.
  var returnTarget: UInt64? {
    guard let instruction, instruction.kind == .ret else { return nil }
    return instruction.target?.value(record.registers, memory)
  }

  /// Returns the image that contains an address, with the address's offset in the image, such as `libshop.so+0x1234`.
  func place(of address: UInt64) -> String? {
    let address = architecture.unsigned(address)
    guard let image = images.first(where: { $0.start <= address && address < $0.end }) else { return nil }
    let name = image.path.split(separator: "/").last.map(String.init) ?? image.path
    return "\(name)+\(Address(address &- image.bias))"
  }

  /// Returns the location of an address as a part of a sentence, such as ` (in libshop.so+0x1234)`; empty if the
  /// location is unknown.
  func what(at address: UInt64) -> String {
    if let place = place(of: address) { return " (in \(CleanText.line(place)))" }
    let stackEnd = record.stackStart &+ UInt64(record.stack.count)
    return record.stackStart <= address && address < stackEnd ? " (on the stack)" : ""
  }

  /// Whether the crash is in a deinit that the quarantine of deallocated objects had deferred.
  ///
  /// A thread of the in-process library runs such a deinit.
  var isDeferredDeinit: Bool {
    frames.contains { $0.mangled == "cs_evict_deferred" || $0.function == "cs_evict_deferred" }
  }

  /// Whether an address is known and can be the value of a pointer.
  func isCanonical(_ address: UInt64?) -> Bool { address.map(architecture.isCanonical) ?? false }
}
