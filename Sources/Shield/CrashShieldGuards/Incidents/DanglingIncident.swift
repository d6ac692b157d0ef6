public import CrashShield
internal import CShimQuarantine

/// A way in which this process used objects after their last release.
///
/// Uses of the same class, of the same kind and from the same place are one incident; what differs from time to time is
/// of the first.
public struct DanglingIncident: Sendable, Hashable {
  /// How the object was touched.
  public enum Kind: Sendable, Hashable {
    /// A virtual method, getter or setter was called.
    case call
    /// A virtual async method was called.
    case asyncCall
    /// The object was released although no reference was left.
    case overRelease
    /// It was retained so many times more than released since; found when the object left the quarantine.
    case retains(Int)
    /// A field was written; found when the object left the quarantine.
    case write
    /// A `ShieldHandle` was asked for an object that had gone.
    case handle
  }

  /// Where a thread was: return addresses, innermost first.
  public struct Stack: Sendable, Hashable {
    /// The kernel's number of the thread; nil when it is not known.
    public var thread: Int?
    /// At most 16 addresses, the runtime's own among them; none when the stack is not known.
    ///
    /// Of a function without a frame, an async one that waits or one that ended by a tail call, stands its begin and 1.
    public var frames: [UInt]
  }

  /// The full name of the object's class.
  public var className: String
  /// How the object was touched.
  public var kind: Kind
  /// The code that the call was meant for; nil for other kinds.
  public var method: UInt?
  /// The word of the class's metadata that the call went through; nil for other kinds.
  public var methodSlot: Int?
  /// How often it happened.
  public var count: Int
  /// What was done about it.
  public var policy: DanglingPolicy
  /// Where the object stood, and the number of its record; nil when it had just left the quarantine.
  public var object: UInt?
  /// The number of the object's record, as the poison of `DanglingPolicy.diagnose` carries it.
  public var record: UInt32?
  /// The time between the last release and this use.
  public var age: Duration?
  /// Whether the object was one of those evicted at random, which reach a greater age.
  public var isExplorer: Bool
  /// Who used the object.
  public var use: Stack
  /// Who released it last.
  public var release: Stack
}

extension DanglingIncident {
  init(_ hit: cs_quarantine_hit) {
    let hasRecord = unsafe hit.has_record != 0
    let kind = unsafe hit.kind
    let isCall = kind == .CS_QUARANTINE_CALL || kind == .CS_QUARANTINE_ASYNC_CALL
    // The addresses of `hit` are copied as numbers; the class's metadata lives as long as the process.
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

extension DanglingIncident.Stack {
  init(_ stack: cs_quarantine_stack) {
    // A C array is a tuple in Swift; its elements are as many UInt64.
    let frames = unsafe withUnsafeBytes(of: stack.frames) { bytes in
      unsafe bytes.bindMemory(to: UInt64.self).prefix(Int(stack.count)).map { UInt($0) }
    }
    self.init(thread: stack.thread == 0 ? nil : Int(stack.thread), frames: frames)
  }
}
