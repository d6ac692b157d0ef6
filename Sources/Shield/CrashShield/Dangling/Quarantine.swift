internal import CShim
internal import CShimQuarantine
internal import Glibc

/// An object whose words are known, so that the runtime's layout can be compared with what the quarantine expects.
private final class Probe: Sendable {
  let one: Int32
  let two = 2

  init(one: Int32) { self.one = one }

  /// On the heap for certain: a local object may be on the stack, and one made of constants in the program's file.
  static let instance = Probe(one: getpid())
}

/// The edge between Swift and the quarantine's C.
package enum Quarantine {
  /// Why the quarantine cannot work in this process; nil when it can.
  ///
  /// Checked once.
  static let unavailable: String? = {
    // The object lives as long as the process; header and two fields are 32 bytes.
    let instance = unsafe Unmanaged.passUnretained(Probe.instance).toOpaque()
    let isAvailable = unsafe cs_quarantine_check(metadata(Probe.self), instance, 32)
    // A constant of the C side.
    return isAvailable ? nil : unsafe String(cString: cs_quarantine_unavailable())
  }()

  /// A class as the runtime knows it: its metatype is the address of its metadata.
  static func metadata(_ type: AnyClass) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
  }

  /// The other way round, for metadata that the C side checked.
  package static func name(of metadata: UnsafeRawPointer?) -> String {
    guard let metadata = unsafe metadata else { return "" }
    return unsafe _typeName(unsafeBitCast(metadata, to: AnyClass.self), qualified: true)
  }

  /// Has incidents and counters shown where crashd reads them.
  ///
  /// Without effect before the start of the shield.
  package static func show() {
    guard cs_shim_is_started() else { return }
    // Both functions live as long as the process, and copy what they are given.
    unsafe cs_quarantine_show(cs_shim_incident, cs_shim_class)
    // It lives as long as the process, and may run in a signal handler.
    unsafe cs_shim_set_record_function(cs_quarantine_crashed)
  }

  /// Lists a class by the address of its metadata.
  static func list(_ class: UInt, _ setting: Protections.Setting) throws(Shield.ProtectionError) {
    if let unavailable { throw .unavailable(unavailable) }
    show()
    // The address is that of a metatype, which is always readable.
    let metadata = unsafe UnsafeRawPointer(bitPattern: `class`)
    let limit = UInt32(clamping: max(1, setting.limit))
    let result = unsafe cs_quarantine_list(metadata, setting.policy.code, limit)
    switch result {
    case .CS_QUARANTINE_OK: return
    // Safe to read: the C side has written it before it says so.
    case .CS_QUARANTINE_UNAVAILABLE: throw .unavailable(unsafe String(cString: cs_quarantine_unavailable()))
    case .CS_QUARANTINE_FULL: throw .tooManyClasses(unsafe name(of: metadata))
    case .CS_QUARANTINE_READ_ONLY: throw .readOnlyMetadata(unsafe name(of: metadata))
    case .CS_QUARANTINE_NO_MEMORY: throw .outOfMemory(unsafe name(of: metadata))
    default: throw .notASwiftClass(unsafe name(of: metadata))
    }
  }

  /// Why nothing can be protected now, such as in a forked child; nil: it can.
  static var obstacle: String? {
    if let unavailable { return unavailable }
    // A constant of the C side.
    let text = unsafe String(cString: cs_quarantine_unavailable())
    return text.isEmpty ? nil : text
  }
}
