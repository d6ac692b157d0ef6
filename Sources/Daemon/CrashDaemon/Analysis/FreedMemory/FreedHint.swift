import CrashReport
import CrashRing

// What allocators leave in freed memory that is no proof by itself, or that lies elsewhere than in the main heap.
extension CrashFacts {
  /// A heap of a thread is aligned to its largest size (glibc's HEAP_MAX_SIZE).
  private static let arenaBits: UInt64 = 26

  /// Whether a value is how glibc leads from one freed block of a thread's heap to the next one: the next one's address
  /// xor the page's number, which is all there is in the last one.
  ///
  /// The heap must be one that a register points into. Both addresses lie in it, so that 21 bits of the value are fixed;
  /// no pointer has them so.
  func isArenaLink(_ value: UInt64) -> Bool {
    guard value >= DiagnosisRule.nullPage, value.isCanonical else { return false }
    return Set(record.registers.prefix(16).map { $0 >> Self.arenaBits }).contains { number in
      // The main heap has a check of its own; addresses this low are in no heap.
      guard number >= 1 << (40 - Self.arenaBits), number < 1 << (47 - Self.arenaBits) else { return false }
      let page = number << (Self.arenaBits - 12)
      return value >> (Self.arenaBits - 12) == number || (value ^ page) >> Self.arenaBits == number
    }
  }

  /// That what the fault used stands in a freed block that a register points at, for a sentence about something else;
  /// empty where none does.
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
