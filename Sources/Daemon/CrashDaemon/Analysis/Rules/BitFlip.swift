import CrashRing

/// A pointer that differs in one bit from another one of the thread.
struct BitFlip: Sendable, Equatable {
  /// The DWARF numbers of the wrong and the right one.
  var register: Int
  var other: Int
  var bit: Int
  var value: UInt64
}

extension CrashFacts {
  /// The distance of two pointers into one object.
  private static let near: UInt64 = 4_096

  /// Nil unless exactly one register and one bit explain the fault.
  ///
  /// Only pointers into the stack or an image count as right ones; the record cannot verify others. Mappings are powers
  /// of two apart, so that a pointer to a removed one is often one bit away from another. So below the bits that no
  /// pointer has set, the right pointer must be exactly equal, and not the start of a page.
  var bitFlip: BitFlip? {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand, let base = operand.base,
      base != RegisterNames.pc, base != 7, record.registers.indices.contains(base)
    else { return nil }
    let value = record.registers[base]
    // Small numbers are null pointers; a repeated byte is a poison pattern.
    guard value >= DiagnosisRule.nullPage, !Self.isPoison(value) else { return nil }
    var found: [BitFlip] = []
    for bit in 0..<64 {
      let repaired = value ^ (1 << UInt64(bit))
      // A small difference is an offset, not a bit flip.
      guard repaired.isCanonical, 1 << UInt64(bit) > Self.near * 4 else { continue }
      for (number, right) in record.registers.prefix(16).enumerated() where number != base {
        let distance = repaired > right ? repaired - right : right - repaired
        let isClear = repaired == right && right % 4_096 != 0 || !value.isCanonical
        guard isClear, distance < Self.near, right >= DiagnosisRule.nullPage, isKnown(right), isKnown(repaired) else {
          continue
        }
        found.append(BitFlip(register: base, other: number, bit: bit, value: value))
      }
    }
    let bits = Set(found.map(\.bit))
    return bits.count == 1 ? found.first : nil
  }

  private func isKnown(_ address: UInt64) -> Bool { memory.contains(address) || place(of: address) != nil }

  private static func isPoison(_ value: UInt64) -> Bool {
    (0..<8).allSatisfy { value >> UInt64(8 * $0) & 0xff == value & 0xff }
  }
}
