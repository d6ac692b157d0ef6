import CrashReport
import CrashRing

/// Evidence that an object in quarantine explains a crash.
///
/// The quarantine keeps deallocated objects for a while, and replaces their class to detect uses. It did not detect
/// this use, because no call went through the replaced class. For example, the program called a method directly,
/// without reading the method table of the class.
struct HeldEvidence: Sendable {
  var object: FreedRecord
  /// The part of the sentence that states how the fault used the object.
  var tie: String

  private var policy: IncidentReport.Mode { IncidentBuilder.name(object.incident.mode) }

  /// Returns the sentence about the object, without the call site and without a full stop.
  func text(_ access: String) -> String {
    let age_ns = Int(clamping: object.incident.record?.age_ns ?? 0)
    let filling = object.incident.mode == .zero ? ", which emptied its fields" : ""
    return "A \(object.incident.subject) was used \(IncidentBuilder.duration(age_ns)) after its last release, in "
      + "quarantine under policy \(policy)\(filling): \(tie), and \(access)"
  }
}

extension RingContents {
  /// Returns the objects in quarantine whose addresses are in registers of the crash.
  func heldObjects(of record: CrashRecord) -> [Incident] {
    let sequence = Int64(bitPattern: record.sequence)
    let own = incidents.lazy.filter {
      $0.isHeld && $0.useTid == record.tid && $0.amount == sequence && $0.record != nil && !$0.subject.isEmpty
    }
    return Array(own.prefix(8))
  }
}

extension CrashFacts {
  /// The object in quarantine in whose method the fault occurred.
  ///
  /// A register that points to an object in quarantine is not sufficient evidence, because registers often point to an
  /// object after its last release. The fault must be in a method of the object's class, and the cause of the fault
  /// must be an empty value that the method read. The method must have been called on the object, which Swift passes in
  /// the register of self.
  ///
  /// For an inlined method, any register can contain the object, and the register of self must not contain a live
  /// object to which the method could belong. If the fault is not in a method of the class, the null pointer must have
  /// been loaded from the object directly before the fault.
  var heldObject: HeldEvidence? {
    // Exclude faults in deferred deinits. Under the policy `absorb`, the quarantine defers a deinit, and the deferred
    // deinit is allowed to use its object.
    guard !held.isEmpty, isFaultOfEmptyField, !isDeferredDeinit else { return nil }
    if let load = fieldLoad, let object = held.first(where: { load.address &- $0.address < $0.bytes }) {
      return HeldEvidence(object: object, tie: load.text)
    }
    for object in held {
      let pointers = record.generalRegisters.indices.filter { record.registers[$0] &- object.address <= 16 }
      let isSelf = swiftSelfValue == object.address
      guard let number = isSelf ? architecture.swiftSelf : pointers.last, isSelf || !isObject(swiftSelfValue) else {
        continue
      }
      guard
        let method = frames.prefix(while: { $0.address == frames.first?.address }).first(where: { frame in
          (isSelf || frame.isInline) && Self.isMethod(frame, of: object.incident.subject)
        })
      else { continue }
      return HeldEvidence(
        object: object,
        tie: "\(architecture.registerName(number)) points at it, \(method.function) is a method of its class")
    }
    return nil
  }

  /// Whether the memory at an address begins with a pointer to a class in an image, as a Swift object does.
  private func isObject(_ address: UInt64?) -> Bool {
    guard let first = address.flatMap({ memory.word(at: $0) }) else { return false }
    return images.contains { $0.start <= first && first < $0.end }
  }

  /// Whether an empty value caused the fault.
  ///
  /// Empty values are a null pointer, an element of an empty array, and a nil optional.
  private var isFaultOfEmptyField: Bool {
    if isNullAccess || isTrapWithReason { return true }
    return isMemoryFault && isFetch && record.address < DiagnosisRule.nullPage
  }

  /// Whether a function is a method of the class.
  ///
  /// The name of the class can include the module.
  private static func isMethod(_ frame: CrashReport.Frame, of className: String) -> Bool {
    guard frame.mangled.hasPrefix("$s"), let name = className.split(separator: ".").last else { return false }
    let text = frame.signature ?? frame.function
    guard let place = text.firstRange(of: "\(name).") else { return false }
    return place.lowerBound == text.startIndex || ". (".contains(text[text.index(before: place.lowerBound)])
  }
}
