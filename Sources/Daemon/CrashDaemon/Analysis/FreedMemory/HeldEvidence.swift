import CrashReport
import CrashRing

/// An object in quarantine that explains a crash.
///
/// No stub detected the use, as with a direct call.
struct HeldEvidence: Sendable {
  var object: FreedRecord
  /// The tie between the fault and the object.
  var tie: String

  private var policy: IncidentReport.Mode { IncidentBuilder.name(object.incident.mode) }

  /// The sentence, without its call site and full stop.
  func text(_ access: String) -> String {
    let age_ns = Int(clamping: object.incident.record?.age_ns ?? 0)
    let filling = object.incident.mode == .zero ? ", which emptied its fields" : ""
    return "A \(object.incident.subject) was used \(IncidentBuilder.duration(age_ns)) after its last release, in "
      + "quarantine under policy \(policy)\(filling): \(tie), and \(access)"
  }
}

extension RingContents {
  /// Objects in quarantine with their address in a register of the crash.
  func heldObjects(of record: CrashRecord) -> [Incident] {
    let sequence = Int64(bitPattern: record.sequence)
    let own = incidents.lazy.filter {
      $0.isHeld && $0.useTid == record.tid && $0.amount == sequence && $0.record != nil && !$0.subject.isEmpty
    }
    return Array(own.prefix(8))
  }
}

extension CrashFacts {
  /// The object in quarantine whose method failed.
  ///
  /// A register that points at such an object is no evidence: after a last release it usually still does. The fault
  /// must be in a method of that class, for an empty value, on the method's own object, which Swift passes in r13. For
  /// an inlined method it is in any register, and r13 must not hold a live object that the method may belong to. Other
  /// code has used the object where it loaded the null pointer from it directly before.
  var heldObject: HeldEvidence? {
    // A deinit that policy absorb has deferred may use its object.
    guard !held.isEmpty, isFaultOfEmptyField, !isDeferredDeinit else { return nil }
    if let load = fieldLoad, let object = held.first(where: { load.address &- $0.address < $0.bytes }) {
      return HeldEvidence(object: object, tie: load.text)
    }
    for object in held {
      let pointers = record.registers.prefix(16).indices.filter { record.registers[$0] &- object.address <= 16 }
      let isSelf = swiftSelfValue == object.address
      guard let number = isSelf ? Self.swiftSelf : pointers.last, isSelf || !isObject(swiftSelfValue) else { continue }
      guard
        let method = frames.prefix(while: { $0.address == frames.first?.address }).first(where: { frame in
          (isSelf || frame.isInline) && Self.isMethod(frame, of: object.incident.subject)
        })
      else { continue }
      return HeldEvidence(
        object: object,
        tie: "\(RegisterNames.name(number)) points at it, \(method.function) is a method of its class")
    }
    return nil
  }

  /// Whether an address begins like an object: with a class of an image.
  private func isObject(_ address: UInt64?) -> Bool {
    guard let first = address.flatMap({ memory.word(at: $0) }) else { return false }
    return images.contains { $0.start <= first && first < $0.end }
  }

  /// Whether an empty value failed: a null pointer, an element of an empty list, an empty optional.
  private var isFaultOfEmptyField: Bool {
    if isNullAccess || isTrapWithReason { return true }
    return isMemoryFault && isFetch && record.address < DiagnosisRule.nullPage
  }

  /// Whether a function's name is that of a method of the class, with or without its module.
  private static func isMethod(_ frame: CrashReport.Frame, of className: String) -> Bool {
    guard frame.mangled.hasPrefix("$s"), let name = className.split(separator: ".").last else { return false }
    let text = frame.signature ?? frame.function
    guard let place = text.firstRange(of: "\(name).") else { return false }
    return place.lowerBound == text.startIndex || ". (".contains(text[text.index(before: place.lowerBound)])
  }
}
