import CrashReport
import CrashRing

/// A pointer that differs in only one bit from another pointer in the thread's registers.
struct BitFlip: Sendable, Equatable {
  /// The DWARF number of the register with the pointer that has the flipped bit.
  ///
  /// The property `other` is the number of the register with the correct pointer.
  var register: Int
  var other: Int
  var bit: Int
  var value: UInt64
}

extension CrashFacts {
  /// The maximum distance in bytes between two pointers that can point into the same object.
  private static let near: UInt64 = 4_096

  /// The bit flip that explains the fault; nil if no flipped bit explains the fault, or if several bits do.
  ///
  /// The correct pointer must point into recorded memory or into an image, because the record does not show whether
  /// other pointers are valid. A canonical pointer that differs in only one bit can also be a pointer to a mapping that
  /// was removed, because the addresses of mappings often differ by a power of two. Therefore, if the pointer with the
  /// flipped bit is canonical, the repaired pointer must equal the correct pointer exactly, and must not be the start
  /// of a page.
  var bitFlip: BitFlip? {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand, let base = operand.base,
      record.isPointerRegister(base), record.registers.indices.contains(base)
    else { return nil }
    let value = record.registers[base]
    // Exclude small numbers, because they are null pointers with an offset. Exclude values of repeated bytes, because
    // they are poison patterns.
    guard value >= DiagnosisRule.nullPage, !Self.isPoison(value) else { return nil }
    var found: [BitFlip] = []
    // Do not flip the bits of the highest byte on AArch64, which ignores this byte of an address.
    for bit in 0..<(record.architecture == .aarch64 ? 56 : 64) {
      let repaired = value ^ (1 << UInt64(bit))
      // Exclude low bits, because two pointers that differ only in a low bit often point into the same object.
      guard isCanonical(repaired), 1 << UInt64(bit) > Self.near * 4 else { continue }
      for (number, right) in record.generalRegisters.enumerated() where number != base {
        let distance = repaired > right ? repaired - right : right - repaired
        let isClear = repaired == right && right % 4_096 != 0 || !isCanonical(value)
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
