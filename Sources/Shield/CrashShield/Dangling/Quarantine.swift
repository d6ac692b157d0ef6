internal import CShim
internal import CShimQuarantine

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An object with known field values, to compare the runtime's layout with the layout that the quarantine expects.
private final class Probe: Sendable {
  let one: Int32
  let two = 2

  init(one: Int32) { self.one = one }

  /// Allocated on the heap: a local object may be on the stack, and a constant object in the program's file.
  static let instance = Probe(one: getpid())
}

/// The Swift interface of the quarantine's C code.
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

  /// The metadata of a class: its metatype is the metadata's address.
  static func metadata(_ type: AnyClass) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
  }

  /// The name of the class with this metadata, which the C side has checked.
  package static func name(of metadata: UnsafeRawPointer?) -> String {
    guard let metadata = unsafe metadata else { return "" }
    return unsafe _typeName(unsafeBitCast(metadata, to: AnyClass.self), qualified: true)
  }

  /// Publishes incidents and counters where crashd reads them.
  ///
  /// Has no effect before the start of the shield.
  package static func show() {
    guard cs_shim_is_started() else { return }
    // Both functions live as long as the process, and copy their arguments.
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

  /// The reason why no class can be protected now, such as a forked child; nil if classes can be protected.
  static var obstacle: String? {
    if let unavailable { return unavailable }
    // A constant of the C side.
    let text = unsafe String(cString: cs_quarantine_unavailable())
    return text.isEmpty ? nil : text
  }
}
