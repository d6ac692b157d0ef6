// The rules that infer the cause from the faulting address.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  /// The address below which an access counts as an access through a null pointer with an offset.
  ///
  /// The kernel setting vm.mmap_min_addr prevents mappings below 65,536.
  static let nullPage: UInt64 = 65_536

  /// Returns the part of a sentence about the accessed field, such as `, probably the field 'total' of 'order'`.
  private static func fieldText(_ facts: CrashFacts) -> String {
    guard let field = facts.field, facts.isNullAccess else { return "" }
    return ", probably the field '\(field.name)' of '\(field.type)'"
  }

  static let memory: [DiagnosisRule] = [
    DiagnosisRule("bare-record", cause: .init("signal"), 1, on: [.signal]) { facts in
      guard facts.isBareFault else { return nil }
      let name = SignalNames.name(of: Int(facts.record.signal))
      return "The process got \(name), whose address is withheld from its user (docs/operations.md),"
    },
    DiagnosisRule("null-call", cause: .init("null-call"), 0.95, on: [.signal, .address, .pc]) { facts in
      guard facts.isMemoryFault, facts.isFetch, facts.record.address == 0 else { return nil }
      return "The program called through a null function pointer"
    },
    DiagnosisRule(
      "null-pointer", 0.95, on: [.signal, .address, .access, .operand, .field, .memory],
      headline: { "Null pointer: \($0.access) address 0" + fieldText($0) }
    ) { facts in
      guard facts.isMemoryFault, facts.record.address == 0, facts.isBaseNull else { return nil }
      return "Null pointer: \(facts.access) address 0" + fieldText(facts) + facts.freedHint
    },
    DiagnosisRule(
      "null-pointer-offset", 0.9, on: [.signal, .address, .access, .operand, .field, .memory],
      headline: { "Null pointer: \($0.access) offset \($0.record.address) of null" + fieldText($0) }
    ) { facts in
      guard facts.isMemoryFault, facts.record.address < nullPage, facts.isBaseNull else { return nil }
      return "Null pointer: \(facts.access) offset \(facts.record.address) of null" + fieldText(facts) + facts.freedHint
    },
    DiagnosisRule("stack-overflow", 0.95, on: [.signal, .address, .stackPointer, .stack]) { facts in
      guard facts.isMemoryFault, !facts.isFetch else { return nil }
      let isDeep = facts.isNearStackPointer && facts.record.frameTotal >= 64
      guard isDeep || facts.isBelowStack && facts.isStackWhole else { return nil }
      return "The stack overflowed, \(counted(facts.record.frameTotal, "call")) deep,"
    },
    DiagnosisRule(
      "stack-overflow-shallow", cause: .init("stack-overflow"), 0.7, on: [.signal, .address, .stackPointer, .stack]
    ) { facts in
      guard facts.isMemoryFault, !facts.isFetch, facts.isNearStackPointer || facts.isBelowStack else { return nil }
      return "The stack overflowed, or the stack pointer is wrong,"
    },
    DiagnosisRule(
      "jump-to-data", 0.95, on: [.signal, .address, .pc, .access],
      headline: { _ in "Jump to data, which is not code," }
    ) { facts in
      guard facts.isDenied, facts.isFetch else { return nil }
      return "Jump to \(facts.address)\(facts.what(at: facts.record.address)), which holds no code"
    },
    DiagnosisRule(
      "jump-to-unmapped", 0.95, on: [.signal, .address, .pc, .access],
      headline: { _ in "Jump to an address where nothing is mapped" }
    ) { facts in
      guard facts.isMemoryFault, facts.isFetch else { return nil }
      return "Jump to \(facts.address), where nothing is mapped"
    },
    DiagnosisRule(
      "read-only-write", 0.95, on: [.signal, .address, .access],
      headline: { _ in "Write to read-only memory" }
    ) { facts in
      guard facts.isDenied, facts.isWrite else { return nil }
      return "Write to \(facts.address)\(facts.what(at: facts.record.address)), which is read-only"
    },
    DiagnosisRule(
      "protected-memory", 0.9, on: [.signal, .address, .access],
      headline: { _ in "Read of memory that may not be read" }
    ) { facts in
      guard facts.isDenied else { return nil }
      return "Read of \(facts.address), which may not be read"
    },
    // This rule applies if a pointer equals another pointer in the thread's registers after one of its bits is flipped.
    DiagnosisRule(
      "bit-flip", 0.5, on: [.signal, .address, .operand],
      headline: { _ in "Bad pointer, one bit away from a good one: perhaps a bit flipped in memory;" }
    ) { facts in
      guard let flip = facts.bitFlip else { return nil }
      return
        "Bad pointer: \(facts.architecture.registerName(flip.register)) is \(Address(flip.value)), one bit (\(flip.bit)) away from "
        + "\(facts.architecture.registerName(flip.other)); perhaps a bit flipped in memory;"
    },
    DiagnosisRule(
      "wild-pointer", 0.8, on: [.signal, .address, .access, .operand, .memory],
      headline: { "Bad pointer: \($0.access) an address where nothing is mapped," }
    ) { facts in
      guard facts.isMemoryFault else { return nil }
      let hint = facts.freedHint
      return "Bad pointer: \(facts.access) \(facts.address), where nothing is mapped" + (hint.isEmpty ? "," : hint)
    },
    DiagnosisRule("privileged-instruction", 0.9, on: [.signal, .instruction]) { facts in
      guard facts.isInstructionRefused, facts.instruction?.isPrivileged == true else { return nil }
      return "The program used an instruction that only the kernel may use"
    },
    // This rule applies to faults with si_code 128 (SI_KERNEL) and si_addr 0, which are not null dereferences. The
    // processor does not report the address of these faults, but the rule can compute the address from the
    // instruction's operand.
    DiagnosisRule(
      "misaligned-vector", cause: .init("misaligned-access"), 0.95, on: [.signal, .instruction, .operand],
      headline: { "Misaligned access: the address must be a multiple of \($0.instruction?.alignment ?? 16)," }
    ) { facts in
      guard facts.isGeneralProtection, let address = facts.operandAddress, facts.isCanonical(address),
        let alignment = facts.instruction?.alignment
      else { return nil }
      return "Misaligned access to \(Address(address)), which must be a multiple of \(alignment),"
    },
    DiagnosisRule(
      "non-canonical-operand", cause: .init("non-canonical"), 0.95, on: [.signal, .instruction, .operand],
      headline: { _ in "Bad pointer: an address that no pointer can have (non-canonical); it was used" }
    ) { facts in
      guard facts.isGeneralProtection, let operand = facts.operand, let address = facts.operandAddress,
        !facts.isCanonical(address)
      else { return nil }
      return
        "Bad pointer: \(Address(address)) (\(operand.text)) is an address that no pointer can have (non-canonical);"
        + " it was used"
    },
    // The `ret` instruction faults before it removes the invalid return address from the stack, so the recorded stack
    // still contains this address.
    DiagnosisRule(
      "smashed-return", cause: .init("non-canonical"), 0.95, on: [.signal, .instruction, .operand, .memory],
      headline: { _ in "Return to an address that no pointer can have: the return address on the stack was overwritten"
      }
    ) { facts in
      guard facts.isGeneralProtection, let target = facts.returnTarget, !facts.isCanonical(target) else { return nil }
      return
        "Return to \(Address(target)), an address that no pointer can have (non-canonical): the return address on the "
        + "stack was overwritten"
    },
    DiagnosisRule("non-canonical", 0.85, on: [.signal, .instruction, .operand, .memory]) { facts in
      guard facts.isGeneralProtection, facts.mayBeNonCanonical else { return nil }
      if facts.architecture == .aarch64 {
        return "Bad pointer: access to an address that no pointer can have (non-canonical)"
      }
      return
        "Bad pointer: access to an address that no pointer can have (non-canonical; the processor did not report it)"
    },
    // When this rule is evaluated, all addresses in the instruction's operands are canonical, because the preceding
    // rules match other addresses. The remaining causes are, for example, an invalid segment or a reserved bit in a
    // value that the instruction loads into a register. The record has no evidence that distinguishes these causes.
    DiagnosisRule("general-protection", 0.6, on: [.signal, .instruction, .operand]) { facts in
      guard facts.isGeneralProtection else { return nil }
      return "The processor refused an instruction without reporting the reason (general protection);"
    },
    DiagnosisRule(
      "truncated-mapping", 0.9, on: [.signal, .address],
      headline: { facts in
        let file = facts.record.mappedFile.map { "'\(CleanText.line($0.path))'" } ?? "a mapped file"
        return "Access past the end of \(file), which is shorter or could not be read,"
      }
    ) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 2 else { return nil }
      if let file = facts.record.mappedFile {
        return
          "Access to \(facts.address), byte \(file.offset) of '\(file.path)', which is shorter or could not be read,"
      }
      let file = facts.place(of: facts.record.address).map { "'\($0)', which" } ?? "the file that"
      return "Access to \(facts.address), past the end of \(file) is mapped there,"
    },
    DiagnosisRule(
      "misaligned-access", 0.9, on: [.signal, .address],
      headline: { $0.isMisalignedFetch ? "Jump to a misaligned address" : "Misaligned access" }
    ) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 1 else { return nil }
      if facts.isMisalignedFetch { return "Jump to \(facts.address), which must be a multiple of 4," }
      return "Misaligned access to \(facts.address)"
    },
    DiagnosisRule(
      "hardware-memory-error", 1, on: [.signal, .address],
      headline: { _ in "The hardware reported a memory error" }
    ) { facts in
      guard facts.record.signal == SIGBUS, facts.record.code == 4 || facts.record.code == 5 else { return nil }
      return "The hardware reported a memory error at \(facts.address)"
    },
  ]
}
