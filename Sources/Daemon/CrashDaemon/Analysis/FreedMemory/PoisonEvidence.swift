import CrashReport
import CrashRing

/// A register that contains a poison value.
///
/// Under the policy `diagnose`, the quarantine, which keeps deallocated objects for a while, fills their fields with
/// poison values.
struct PoisonEvidence: Sendable, Equatable {
  var register: Int
  /// The number of the quarantine's record of the object.
  var record: UInt32
  /// The class of the deallocated object.
  var className: String
  var architecture: Architecture

  private static let tag: UInt64 = 0xEFED
  private static let classes: UInt32 = 1 << 11
  /// The range of the low 16 bits, which are the sum of 0x8000, the object's encoded size and the offset that the
  /// program added.
  ///
  /// If the sum is outside the range, the addition of the offset can also have changed the record number in the higher
  /// bits.
  private static let lowHalf: Range<UInt64> = 0x4000..<0xE000

  /// Decodes a poison value; nil if the value is not a poison value, or does not name a class that the process
  /// protected.
  init?(register: Int, value: UInt64, classes: [ProtectedClass], architecture: Architecture) {
    // The low 16 bits contain the object's encoded size. The program could have added an offset, and the code of a
    // runtime could have cleared some bits of the pointer. Therefore, accept a range of values.
    guard value >> 48 == Self.tag, Self.lowHalf.contains(value & 0xFFFF) else { return nil }
    let record = UInt32(truncatingIfNeeded: value >> 16)
    let index = Int(record % Self.classes)
    guard classes.indices.contains(index), classes[index].admitted > 0 else { return nil }
    self.register = register
    self.architecture = architecture
    self.record = record
    className = classes[index].name
  }

  var text: String { "\(architecture.registerName(register)) has the mark of record \(record)" }
}

extension CrashFacts {
  /// The class of the object that the program used after the object was freed; nil if no evidence contains the class.
  var danglingClass: String? {
    if let page, page.isOfFreed { return page.incident.subject.isEmpty ? nil : page.incident.subject }
    if let poison { return poison.className }
    if let heldObject { return heldObject.object.incident.subject }
    return record.objectClass.isEmpty ? freedRecord?.incident.subject : record.objectClass
  }

  /// The evidence that a register of the faulting operand contains a poison value.
  var poison: PoisonEvidence? {
    guard isGeneralProtection, !protectedClasses.isEmpty else { return nil }
    let numbers = [operand?.base, operand?.index].compactMap { $0 }
    for number in numbers where record.registers.indices.contains(number) {
      let found = PoisonEvidence(
        register: number, value: record.registers[number], classes: protectedClasses, architecture: architecture)
      if let found { return found }
    }
    return nil
  }
}
