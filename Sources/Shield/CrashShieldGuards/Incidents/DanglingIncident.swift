package import CrashShield
internal import CShimQuarantine

/// A use-after-free in this process.
///
/// Accesses of the same class, access kind and call site are one incident, with the details of the first access.
package struct DanglingIncident: Sendable, Hashable {
  /// The kind of access to the deallocated object.
  package enum Kind: Sendable, Hashable {
    /// A call of a virtual method, getter or setter.
    case call
    /// A call of a virtual async method.
    case asyncCall
    /// A release of an object that has no references left.
    case overRelease
    /// Excess retains, with their number; detected when the object left the quarantine.
    case retains(Int)
    /// A write to a field; detected when the object left the quarantine.
    case write
    /// A `ShieldHandle` that was resolved after its object was deallocated.
    case handle
  }

  package typealias Stack = Shield.Incident.Stack

  /// The full name of the object's class.
  package var className: String
  /// The kind of the access that this incident describes.
  package var kind: Kind
  /// The intended target of the call; nil for other kinds.
  package var method: UInt?
  /// The index of the vtable entry in the class's metadata that the call used; nil for other kinds.
  package var methodSlot: Int?
  /// The number of occurrences.
  package var count: Int
  /// The policy of the class at the time of the access.
  package var policy: DanglingPolicy
  /// The address of the object; nil if the object had just left the quarantine.
  package var object: UInt?
  /// The number of the quarantine's record of the object, which `DanglingPolicy.diagnose` writes into the object's
  /// fields.
  package var record: UInt32?
  /// The time between the last release and this access.
  package var age: Duration?
  /// Whether the object was chosen at random to stay in quarantine longer.
  package var isExplorer: Bool
  /// The stack of the access.
  package var use: Stack
  /// The stack of the last release.
  package var release: Stack
}

extension DanglingIncident {
  init(_ hit: cs_quarantine_hit) {
    let hasRecord = unsafe hit.has_record != 0
    let kind = unsafe hit.kind
    let isCall = kind == .CS_QUARANTINE_CALL || kind == .CS_QUARANTINE_ASYNC_CALL
    // Invariant: the addresses in `hit` are copied as numbers, and the metadata of the class is never freed.
    unsafe self.init(
      className: Quarantine.name(of: hit.metadata),
      kind: Kind(kind, drift: Int(hit.drift)),
      method: isCall ? unsafe UInt(bitPattern: hit.method) : nil,
      methodSlot: isCall ? Int(hit.word) : nil,
      count: Int(clamping: hit.count),
      policy: DanglingPolicy(hit.policy),
      object: hasRecord ? unsafe UInt(bitPattern: hit.object) : nil,
      record: hasRecord ? hit.id : nil,
      age: hasRecord ? .nanoseconds(Int64(clamping: hit.age_ns)) : nil,
      isExplorer: hit.is_explorer != 0,
      use: Stack(hit.use), release: Stack(hit.free))
  }
}

extension DanglingIncident.Kind {
  init(_ code: cs_quarantine_kind, drift: Int) {
    switch code {
    case .CS_QUARANTINE_ASYNC_CALL: self = .asyncCall
    case .CS_QUARANTINE_OVER_RELEASE: self = .overRelease
    case .CS_QUARANTINE_DRIFT: self = .retains(drift)
    case .CS_QUARANTINE_WRITE: self = .write
    default: self = .call
    }
  }
}

extension Shield.Incident.Stack {
  init(_ stack: cs_quarantine_stack) {
    // A C array is a tuple in Swift. Invariant: the first `count` UInt64 elements of the array are valid.
    let frames = unsafe withUnsafeBytes(of: stack.frames) { bytes in
      unsafe bytes.bindMemory(to: UInt64.self).prefix(Int(stack.count)).map { UInt($0) }
    }
    self.init(thread: stack.thread == 0 ? nil : Int(stack.thread), frames: frames)
  }
}
