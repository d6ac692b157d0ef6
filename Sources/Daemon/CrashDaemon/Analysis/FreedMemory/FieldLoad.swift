import CrashReport
import CrashRing

/// The origin of the faulting operand's register, by the code before the fault.
struct FieldLoad: Sendable, Equatable {
  /// The faulting operand's register.
  var register: Int
  var value: UInt64
  /// The block or object whose field was loaded, if it is one.
  var pointer: UInt64
  /// The address that the value was loaded from.
  var address: UInt64
  /// The faulting operand.
  var operand: String

  var text: String {
    let what = value == 0 ? "null" : Address(value).description
    return "\(RegisterNames.name(register)) of the faulting \(operand) is \(what), loaded from \(Address(address))"
  }
}

// A freed block with a null field and a null pointer are no evidence: zeros are everywhere, and a third of all crashes
// have a register that points at freed memory. The code shows whether one was loaded from the other.
extension CrashFacts {
  /// The code before the fault that certainly ran: a matching value in memory proves a load only for a rare value, not
  /// for null.
  private var loadsBefore: [UInt8] {
    #if arch(x86_64)
      guard let base = operand?.base, record.registers.indices.contains(base), record.registers[base] == 0 else {
        return codeBefore
      }
      return PrecedingLoads_x86_64.straight(codeBefore, following: record.instruction)
    #else
      return []
    #endif
  }

  /// Nil where the code before the fault does not load the register, or memory has another value there by now.
  ///
  /// A call ends the search: it may have freed what was loaded before it.
  var fieldLoad: FieldLoad? {
    #if arch(x86_64)
      guard isMemoryFault || isGeneralProtection, !isFetch, let operand, let register = operand.base,
        record.registers.indices.contains(register), register != RegisterNames.pc,
        let (pointer, address) = PrecedingLoads_x86_64(loadsBefore, record.registers, memory).origin(of: register),
        memory.word(at: address) == record.registers[register]
      else { return nil }
      return FieldLoad(
        register: register, value: record.registers[register], pointer: pointer, address: address, operand: operand.text
      )
    #else
      return nil
    #endif
  }

  /// The faulting value was loaded directly before from a block that the allocator or the runtime marks as free.
  var danglingField: DanglingEvidence? {
    guard let load = fieldLoad else { return nil }
    let block = freedBlocks(around: load.pointer, in: load.register).first {
      isSurelyFree($0) && load.address &- $0.address < $0.bytes
    }
    return block.map { block in
      DanglingEvidence(
        block: block.address, register: block.register, state: block.state,
        tie: "\(load.text), byte \(load.address - block.address) of a block that is \(block.state.text)")
    }
  }

  /// Whether the block has a mark that no program writes, or, in a bin, the next block says that it is free.
  ///
  /// Its words alone are not enough: a reused block may have them until it is written.
  private func isSurelyFree(_ block: FreedBlock) -> Bool {
    if Self.isMarked(block.state) { return true }
    // glibc's PREV_INUSE.
    guard case .binned = block.state, let next = memory.word(at: block.address &+ block.bytes) else { return false }
    return next & 1 == 0 && Self.isBlockSize(next)
  }

  /// Whether the code before the fault could show a use of freed memory.
  var mayBeFieldOfFreed: Bool { isNullAccess && !held.isEmpty || !freedHint.isEmpty }
}
