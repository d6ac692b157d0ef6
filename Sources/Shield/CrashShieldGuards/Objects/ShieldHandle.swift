internal import CrashShield
internal import CShimQuarantine
internal import Synchronization

/// A handle to an object, for the `void *` that a C library passes back to a callback.
///
/// Replaces `Unmanaged.passUnretained(self).toOpaque()`. C code keeps a number, which resolves to the object while the
/// object is alive. After the object's dealloc, the number resolves to nil, and a fault of kind `handle` is recorded.
/// The number is not an address and cannot be dereferenced.
///
/// ```swift
/// let handle = ShieldHandle(self)
/// library_set_callback(handle.context) { context in
///   ShieldHandle.resolve(context, as: Session.self)?.received()
/// }
/// ```
///
/// Without a handle, a callback after the object was deallocated dereferences freed memory. Often the process then ends
/// with SIGSEGV; otherwise the callback reads and writes memory of another object. A handle returns nil in each guard
/// mode, because it does not contain an address. Under `off`, the fault is not recorded. crashd and
/// `Shield.danglingIncidents` list the fault as a use-after-free, with the expected class.
///
/// The handle does not retain the object. If the handle itself was deallocated, its number resolves to nil, too. May be
/// used from any thread; each resolution takes a lock and loads a weak reference.
public final class ShieldHandle: Sendable {
  /// The pointer to pass to C code.
  public var context: UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: UInt(number))
  }

  private let number: UInt64

  /// Creates a handle for this object.
  public init(_ object: AnyObject) {
    number = Handles.shared.insert(object)
  }

  deinit { Handles.shared.remove(number) }

  /// Returns the object of a handle that C passed back; nil if the object was deallocated, or has another class.
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

/// The table of the handles in this process and their objects.
final class Handles: Sendable {
  static let shared = Handles()

  private static let missesMaximum = 64
  /// Marks a number as a handle: no address of a process has these bits set.
  ///
  /// Each number is used only once.
  private static let tag: UInt64 = 0x5C5A << 48

  /// A weak reference that a dictionary can hold.
  ///
  /// Precondition: the caller holds the lock of `state`.
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
    // Release the last reference to the entry after unlocking.
    _ = state.withLock { state in Transfer(state.objects.removeValue(forKey: number)) }
  }

  func object(_ number: UInt64) -> AnyObject? {
    state.withLock { state in Transfer(state.objects[number]?.object) }.value
  }

  func recordMiss(of className: String) {
    var here = cs_quarantine_stack()
    // Invariant: the C function fills in the structure.
    unsafe cs_quarantine_here(&here)
    let use = DanglingIncident.Stack(here)
    // Publish the incidents to crashd here, too: the shield was possibly started after the first class was protected.
    Quarantine.show()
    var name = className
    name.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return }
      // Invariant: the C function copies the name and the stack.
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

/// Carries a reference out of the lock's closure.
///
/// Sendable: only the caller uses the value.
private struct Transfer<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}
