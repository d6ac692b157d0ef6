internal import CShim
internal import CShimQuarantine

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A class for a check at run time: the known field values of its object show whether the runtime lays out objects as
/// the quarantine expects.
private final class Probe: Sendable {
  let one: Int32
  let two = 2

  init(one: Int32) { self.one = one }

  /// The object is global because it must be on the heap.
  ///
  /// The compiler can put a local object on the stack, and a constant object into the executable.
  static let instance = Probe(one: getpid())
}

/// The Swift interface to the C code of the quarantine.
package enum Quarantine {
  /// The reason why the quarantine cannot work in this process; nil if it can.
  ///
  /// The check runs once per process.
  static let unavailable: String? = {
    // Invariant: the object is never released, and its header and two fields take 32 bytes.
    let instance = unsafe Unmanaged.passUnretained(Probe.instance).toOpaque()
    let isAvailable = unsafe cs_quarantine_check(metadata(Probe.self), instance, 32)
    // Invariant: the C string is a constant.
    return isAvailable ? nil : unsafe String(cString: cs_quarantine_unavailable())
  }()

  /// Returns the address of a class's metadata, which is what the metatype contains.
  static func metadata(_ type: AnyClass) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
  }

  /// Returns the name of the class with this metadata.
  ///
  /// Precondition: the C code has checked that the address is the address of a class's metadata.
  package static func name(of metadata: UnsafeRawPointer?) -> String {
    guard let metadata = unsafe metadata else { return "" }
    return unsafe _typeName(unsafeBitCast(metadata, to: AnyClass.self), qualified: true)
  }

  /// Lets the quarantine publish its incidents and counters to crashd.
  ///
  /// This function has no effect before the shield is started.
  package static func show() {
    guard cs_shim_is_started() else { return }
    // Invariant: both functions are valid until the process ends, and copy their arguments.
    unsafe cs_quarantine_show(cs_shim_incident, cs_shim_class)
    // Invariant: the function is valid until the process ends, and is safe to call in a signal handler.
    unsafe cs_shim_set_record_function(cs_quarantine_crashed)
  }

  /// Lets the quarantine protect the class whose metadata has this address.
  static func list(_ class: UInt, _ setting: Protections.Setting) throws(Shield.ProtectionError) {
    if let unavailable { throw .unavailable(unavailable) }
    show()
    // Invariant: the address points to a metatype, which is always readable.
    let metadata = unsafe UnsafeRawPointer(bitPattern: `class`)
    let limit = UInt32(clamping: max(1, setting.limit))
    let result = unsafe cs_quarantine_list(metadata, setting.policy.code, limit)
    switch result {
    case .CS_QUARANTINE_OK: return
    // Invariant: the C code sets the reason string before it returns `CS_QUARANTINE_UNAVAILABLE`.
    case .CS_QUARANTINE_UNAVAILABLE: throw .unavailable(unsafe String(cString: cs_quarantine_unavailable()))
    case .CS_QUARANTINE_FULL: throw .tooManyClasses(unsafe name(of: metadata))
    case .CS_QUARANTINE_READ_ONLY: throw .readOnlyMetadata(unsafe name(of: metadata))
    case .CS_QUARANTINE_NO_MEMORY: throw .outOfMemory(unsafe name(of: metadata))
    default: throw .notASwiftClass(unsafe name(of: metadata))
    }
  }

  /// The reason why no class can be protected now, for example in a forked child; nil if classes can be protected.
  static var obstacle: String? {
    if let unavailable { return unavailable }
    // Invariant: the C string is a constant.
    let text = unsafe String(cString: cs_quarantine_unavailable())
    return text.isEmpty ? nil : text
  }
}
