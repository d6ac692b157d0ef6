import CrashReport
import CrashRing

// Traces of allocators in freed memory that prove nothing alone, or that are outside of the main heap.
extension CrashFacts {
  /// A thread's heap is aligned to its largest size (glibc's HEAP_MAX_SIZE).
  private static let arenaBits: UInt64 = 26

  /// Whether a value is glibc's link from one freed block of a thread's heap to the next: the next block's address xor
  /// the page's number, which alone is the link of the last one.
  ///
  /// The heap must be one that a register points into. Both addresses are in it, so that 21 bits of the value are
  /// fixed, which no pointer has that way.
  func isArenaLink(_ value: UInt64) -> Bool {
    guard value >= DiagnosisRule.nullPage, value.isCanonical else { return false }
    return Set(record.registers.prefix(16).map { $0 >> Self.arenaBits }).contains { number in
      // The main heap has a check of its own; no heap has such low addresses.
      guard number >= 1 << (40 - Self.arenaBits), number < 1 << (47 - Self.arenaBits) else { return false }
      let page = number << (Self.arenaBits - 12)
      return value >> (Self.arenaBits - 12) == number || (value ^ page) >> Self.arenaBits == number
    }
  }

  /// A note for another sentence that the faulting value is in a freed block that a register points at; empty where
  /// none is.
  ///
  /// It is no verdict: a third of all crashes have a register that points at freed memory.
  var freedHint: String {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return "" }
    for number in [operand.base, operand.index].compactMap({ $0 }) where number != RegisterNames.pc && number != 7 {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in freedBlocks where block.register != number && Self.isMarked(block.state) {
        let fields = stride(from: 16 as UInt64, to: min(block.bytes, 112), by: 8)
        guard fields.contains(where: { memory.word(at: block.address &+ $0) == value }) else { continue }
        let register = RegisterNames.name(block.register)
        return "; \(register) points at \(Address(block.address)), which is \(block.state.text) and has such a value;"
      }
    }
    return ""
  }

  /// Whether the allocator or the runtime has left its mark, which no program writes.
  static func isMarked(_ state: BlockState) -> Bool {
    switch state {
    case .cached, .fastBin: true
    case .listed, .binned, .deinitialized, .taken: false
    }
  }
}
