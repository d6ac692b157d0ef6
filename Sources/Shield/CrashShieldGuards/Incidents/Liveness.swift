public import CrashShield
internal import CShimQuarantine

/// The state of the object at an address.
public enum Liveness: Sendable, Hashable {
  /// A live Swift object of the given class is at the address.
  ///
  /// The object can be another object than the expected one, because later objects reuse addresses.
  case live(className: String)
  /// The object was deallocated, and is still in quarantine.
  case quarantined(Record)
  /// The last quarantined object at the address has left the quarantine, and its memory was freed.
  case freed(Record)
  /// There is no Swift object at the address, the object is not of a protected class, or the record of the object was
  /// reused.
  case unknown

  /// The record of a freed object.
  public struct Record: Sendable, Hashable {
    /// The full name of the object's class.
    public var className: String
    /// The number of the record.
    public var number: UInt32
    /// The time since the last release.
    public var age: Duration
    /// The stack of the last release.
    public var release: Shield.Incident.Stack
  }
}

extension Shield {
  /// Returns the state of the object at this address, live or freed.
  ///
  /// The address can be any value: the shield reads the memory with a system call, which fails if no memory is mapped
  /// there. If the first word at the address looks like a pointer to class metadata, the shield assumes an object, and
  /// gets the name of the class from the runtime. Precondition: no other thread unloads an image during the call. The
  /// call reads each freed-object record, which takes a few microseconds: use it for asserts and debugging only. May be
  /// called from any thread. If the caller does not retain the object, the result can be outdated at once.
  public static func liveness(of pointer: UnsafeRawPointer?) -> Liveness {
    var answer = unsafe cs_quarantine_liveness()
    // Invariant: the C function does not dereference the pointer.
    unsafe cs_quarantine_ask(pointer, &answer)
    let name = unsafe Quarantine.name(of: answer.metadata)
    let record = unsafe Liveness.Record(
      className: name, number: answer.id, age: .nanoseconds(Int64(clamping: answer.age_ns)),
      release: Shield.Incident.Stack(answer.free))
    switch unsafe answer.state {
    case .CS_QUARANTINE_LIVE: return .live(className: name)
    case .CS_QUARANTINE_HELD: return .quarantined(record)
    case .CS_QUARANTINE_FREED: return .freed(record)
    default: return .unknown
    }
  }
}
