import CrashReport
import CrashRing

// The allocator writes links and marks into freed blocks. The following properties recognize those that are outside the
// main heap, or that are too weak as evidence on their own.
extension CrashFacts {
  /// The alignment of a heap that glibc creates for a thread, as the exponent of a power of two.
  ///
  /// The alignment equals the maximum size of a thread's heap (glibc's HEAP_MAX_SIZE).
  private static let arenaBits: UInt64 = 26

  /// Whether a value is glibc's link from one freed block in the heap of a thread to the next freed block.
  ///
  /// A link is the address of the next block, xor the page number of the block that contains the link. The link of the
  /// last block is the page number alone.
  ///
  /// A register must point into the same heap as the link. Because both the block and the next freed block are in this
  /// heap, 21 bits of the link are known. Other values have the same 21 bits only by chance.
  func isArenaLink(_ value: UInt64) -> Bool {
    guard value >= DiagnosisRule.nullPage, isCanonical(value) else { return false }
    return Set(record.generalRegisters.map { $0 >> Self.arenaBits }).contains { number in
      // Accept only heaps at 2^40 or above, because glibc maps the heaps of threads at these high addresses.
      // `HeapFacts.isLink` recognizes links in the main heap.
      guard number >= 1 << (40 - Self.arenaBits), number < 1 << (architecture.addressBits - Self.arenaBits) else {
        return false
      }
      let page = number << (Self.arenaBits - 12)
      return value >> (Self.arenaBits - 12) == number || (value ^ page) >> Self.arenaBits == number
    }
  }

  /// A note that a register points to a freed block which contains the faulting value.
  ///
  /// The note is empty if no register points to such a freed block. The sentence of another rule's diagnosis includes
  /// this note. The note is not a diagnosis, because in a third of all crashes a register points to freed memory.
  var freedHint: String {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return "" }
    for number in [operand.base, operand.index].compactMap({ $0 }) where record.isPointerRegister(number) {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in freedBlocks where block.register != number && Self.isMarked(block.state) {
        let fields = stride(from: 16 as UInt64, to: min(block.bytes, 112), by: 8)
        guard fields.contains(where: { memory.word(at: block.address &+ $0) == value }) else { continue }
        let register = architecture.registerName(block.register)
        return "; \(register) points at \(Address(block.address)), which is \(block.state.text) "
          + "and has the faulting value;"
      }
    }
    return ""
  }

  /// Whether the block has a mark of the allocator or the runtime that no program writes.
  static func isMarked(_ state: BlockState) -> Bool {
    switch state {
    case .cached, .fastBin: true
    case .listed, .binned, .deinitialized, .taken: false
    }
  }
}
