public import CrashShield
internal import CShimQuarantine

/// What the shield knows of the object at an address.
public enum Liveness: Sendable, Hashable {
  /// A Swift object of that class is there, and has not been released for the last time.
  ///
  /// It need not be the one that was meant: an address has many tenants.
  case live(className: String)
  /// The object was released for the last time, and is in quarantine.
  case quarantined(Record)
  /// The last object there that the quarantine knew of was released, and its memory given back.
  case freed(Record)
  /// No Swift object, or none of a protected class, or too long ago.
  case unknown

  /// What is remembered of an object after its last release.
  public struct Record: Sendable, Hashable {
    /// The full name of its class.
    public var className: String
    /// The number of the record.
    public var number: UInt32
    /// The time since the last release.
    public var age: Duration
    /// Who released it last.
    public var release: DanglingIncident.Stack
  }
}

extension Shield {
  /// Whether there is an object at this address, or was.
  ///
  /// The address may be anything: it is read by a system call, which fails where there is no memory. What points at
  /// something that looks like a class's metadata counts as an object, and the runtime is asked for the class's name: an
  /// image must not be unloaded meanwhile. Costs a few microseconds and a look at each record, so it is for asserts and
  /// debugging. Any thread. The answer may be out of date when it arrives, unless the caller knows better.
  public static func liveness(of pointer: UnsafeRawPointer?) -> Liveness {
    var answer = unsafe cs_quarantine_liveness()
    // It does not follow the pointer.
    unsafe cs_quarantine_ask(pointer, &answer)
    let name = unsafe Quarantine.name(of: answer.metadata)
    let record = unsafe Liveness.Record(
      className: name, number: answer.id, age: .nanoseconds(Int64(clamping: answer.age_ns)),
      release: DanglingIncident.Stack(answer.free))
    switch unsafe answer.state {
    case .CS_QUARANTINE_LIVE: return .live(className: name)
    case .CS_QUARANTINE_HELD: return .quarantined(record)
    case .CS_QUARANTINE_FREED: return .freed(record)
    default: return .unknown
    }
  }
}
