import CrashReport
import CrashRing

/// The memory location from which the value in the faulting operand's register was loaded, according to the code before
/// the fault.
struct FieldLoad: Sendable, Equatable {
  /// The register of the faulting operand.
  var register: Int
  var value: UInt64
  /// The pointer through which the value was loaded; for a field, this is the address of the block or object.
  var pointer: UInt64
  /// The address that the value was loaded from.
  var address: UInt64
  /// The faulting memory operand, as text in assembler syntax.
  var operand: String
  var architecture: Architecture

  var text: String {
    let what = value == 0 ? "null" : Address(value).description
    return
      "\(architecture.registerName(register)) of the faulting \(operand) is \(what), loaded from \(Address(address))"
  }
}

// A null pointer in a register and a freed block with a null field are together not sufficient evidence. Zeros are
// common in memory, and in a third of all crashes a register points to freed memory by chance. The code before the
// fault shows whether the pointer was loaded from the block.
extension CrashFacts {
  /// The code before the fault in which `fieldLoad` searches for the load instruction.
  ///
  /// If the value in the register is null, `fieldLoad` searches only code that certainly ran. Otherwise, a null value
  /// anywhere in memory would match by chance.
  private var loadsBefore: [UInt8] {
    guard let base = operand?.base, record.registers.indices.contains(base), record.registers[base] == 0 else {
      return codeBefore
    }
    return PrecedingLoads.straight(codeBefore, following: record.instruction, for: architecture)
  }

  /// The instruction that loaded the register of the faulting operand.
  ///
  /// The value is nil if the code before the fault does not load the register, or if memory at the load's address now
  /// has another value. The search ends at a call instruction, because the called function can free the block after the
  /// load.
  var fieldLoad: FieldLoad? {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand, let register = operand.base,
      record.registers.indices.contains(register), register != architecture.programCounter,
      let (pointer, address) = PrecedingLoads(loadsBefore, record.registers, memory, architecture).origin(of: register),
      memory.word(at: address) == record.registers[register]
    else { return nil }
    return FieldLoad(
      register: register, value: record.registers[register], pointer: pointer, address: address, operand: operand.text,
      architecture: architecture)
  }

  /// The evidence that the faulting value was loaded from a block that is marked as free, directly before the fault.
  ///
  /// The allocator or the Swift runtime wrote this mark.
  var danglingField: DanglingEvidence? {
    guard let load = fieldLoad else { return nil }
    let block = freedBlocks(around: load.pointer, in: load.register).first {
      isSurelyFree($0) && load.address &- $0.address < $0.bytes
    }
    return block.map { block in
      DanglingEvidence(
        block: block.address, register: block.register, state: block.state,
        tie: "\(load.text), byte \(load.address - block.address) of a block that is \(block.state.text)",
        architecture: architecture)
    }
  }

  /// Whether the block is certainly free.
  ///
  /// A block is certainly free if it has a mark that no program writes. A block in a bin is also certainly free if the
  /// next block's header marks it as free. The words of the block alone are not sufficient. When malloc reuses the
  /// block, the words that mark it as free remain until the program writes to the block.
  private func isSurelyFree(_ block: FreedBlock) -> Bool {
    if Self.isMarked(block.state) { return true }
    // Test glibc's flag PREV_INUSE, which is the lowest bit in the size of the next block.
    guard case .binned = block.state, let next = memory.word(at: block.address &+ block.bytes) else { return false }
    return next & 1 == 0 && Self.isBlockSize(next)
  }

  /// Whether crashd should read the code before the fault, because this code can show a use of freed memory.
  var mayBeFieldOfFreed: Bool { isNullAccess && !held.isEmpty || !freedHint.isEmpty }
}
