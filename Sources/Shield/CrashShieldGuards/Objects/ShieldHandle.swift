internal import CrashShield
internal import CShimQuarantine
internal import Synchronization

/// An object's stand-in for the `void *` that a C library gives back to a callback.
///
/// In place of `Unmanaged.passUnretained(self).toOpaque()`: the number that C keeps leads to the object as long as that
/// lives, and to nil afterwards, which is recorded as `handle`. It is no address; nobody can follow it.
///
/// ```swift
/// let handle = ShieldHandle(self)
/// library_set_callback(handle.context) { context in
///   ShieldHandle.resolve(context, as: Session.self)?.received()
/// }
/// ```
///
/// Without, a callback follows the address of memory that was given back: often the process ends by SIGSEGV, else it reads
/// and writes what is another's by now. There is no such address here, and to keep one would be to follow it on purpose: so
/// `observe` gives nil as `absorb` does, and `off` gives nil without a record. crashd, and
/// `Shield.danglingIncidents`, have the fault as a use of a dead object, with the class that was asked for.
///
/// The handle does not keep the object. A handle that has gone itself leads to nil, too. Any thread; a lock and a weak
/// reference for each look-up.
public final class ShieldHandle: Sendable {
  /// What to give to C.
  public var context: UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: UInt(number))
  }

  private let number: UInt64

  /// Makes a stand-in for this object.
  public init(_ object: AnyObject) {
    number = Handles.shared.insert(object)
  }

  deinit { Handles.shared.remove(number) }

  /// The object behind what C gave back; nil when it has gone, or is of another class.
  public static func resolve<Object: AnyObject>(
    _ context: UnsafeMutableRawPointer?, as type: Object.Type = Object.self, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Object? {
    let number = UInt64(UInt(bitPattern: context))
    if let object = Handles.shared.object(number) as? Object { return object }
    let site = ShieldSite(fileID: fileID, line: line)
    let isRecorded = Shield.mode(for: .handle) != .off && !SelfTest.hasMade(site)
    Shield.recordFault(.handle, at: site) { "nothing where a \(type) was expected" }
    if isRecorded { Handles.shared.recordMiss(of: _typeName(type, qualified: true)) }
    return nil
  }
}

/// The objects behind the handles of this process.
final class Handles: Sendable {
  static let shared = Handles()

  private static let missesMaximum = 64
  /// No address of a process has these bits, and no number is given twice.
  private static let tag: UInt64 = 0x5C5A << 48

  /// A weak reference that a dictionary can hold.
  ///
  /// Only touched under `state`'s lock.
  private final class Weak {
    weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
  }

  private struct Miss: Hashable {
    var className: String
    var frames: [UInt]
  }

  private struct State {
    var next: UInt64 = 1
    var objects: [UInt64: Weak] = [:]
    var misses: [Miss: DanglingIncident] = [:]
    var lost = 0
  }

  private let state = Mutex(State())

  func insert(_ object: AnyObject) -> UInt64 {
    let entry = Transfer(Weak(object))
    return state.withLock { state in
      let number = Self.tag | state.next
      state.next += 1
      state.objects[number] = entry.value
      return number
    }
  }

  func remove(_ number: UInt64) {
    // The last reference to the entry goes outside of the lock.
    _ = state.withLock { state in Transfer(state.objects.removeValue(forKey: number)) }
  }

  func object(_ number: UInt64) -> AnyObject? {
    state.withLock { state in Transfer(state.objects[number]?.object) }.value
  }

  func recordMiss(of className: String) {
    var here = cs_quarantine_stack()
    // It fills in the structure.
    unsafe cs_quarantine_here(&here)
    let use = DanglingIncident.Stack(here)
    // The shield may have been started since anything was protected.
    Quarantine.show()
    var name = className
    name.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return }
      // The name and the stack are copied.
      unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { text in
        unsafe cs_quarantine_missed(text, UInt64(bytes.count), &here)
      }
    }
    state.withLock { state in
      let key = Miss(className: className, frames: use.frames)
      if state.misses[key] != nil {
        state.misses[key]?.count += 1
      } else if state.misses.count < Self.missesMaximum {
        state.misses[key] = DanglingIncident(
          className: className, kind: .handle, method: nil, methodSlot: nil, count: 1, policy: .absorb, object: nil,
          record: nil, age: nil, isExplorer: false, use: use, release: DanglingIncident.Stack(thread: nil, frames: []))
      } else {
        state.lost += 1
      }
    }
  }

  var incidents: [DanglingIncident] { state.withLock { Array($0.misses.values) } }
  var lost: Int { state.withLock { $0.lost } }
}

/// Carries a reference across the lock's edge.
///
/// What is behind it is touched by nobody else, or is the caller's own.
private struct Transfer<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}
