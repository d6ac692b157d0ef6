internal import CShimGuardPages
internal import CShimRing
internal import CrashShield

/// Sampled guard pages, as in GWP-ASan: gives some objects of the chosen classes a page of their own, which becomes
/// inaccessible when they are freed.
///
/// The processor detects each access to such a freed object, whatever the optimizer made of it: a call, a field read, a
/// retain. It also detects accesses past the object, and a double free.
///
/// ```swift
/// Shield.start()
/// GuardPages.configure(slots: 512, oneIn: 100)
/// try GuardPages.protect(Session.self, Player.self)
/// ```
///
/// This library replaces `malloc`, `free`, `realloc` and `malloc_usable_size` of the program that links it, and
/// forwards to the original functions. Until a class is protected that costs three instructions a `malloc` and five a
/// `free`. With another allocator than glibc's, and under a sanitizer, the library only forwards, and
/// `unavailableReason` says why.
///
/// It samples allocations by size: other allocations of the same size may be sampled as well, and are counted. A
/// sampled object costs some microseconds, in system calls that change the protection of its page.
public enum GuardPages: Sendable {
  /// The reaction to an invalid use of guarded memory.
  public enum Policy: Sendable, Equatable {
    /// Makes the page accessible again, with the object as its deinit left it, and the program continues.
    ///
    /// The slot is not used again. Retains and releases of the object do nothing from then on.
    case absorb
    /// Lets the process crash at that access; its report shows the stack that freed the object.
    case crash
  }

  /// Samples objects of these classes from now on; a second call changes the policy.
  ///
  /// Applies to exactly these classes, not to their subclasses. Rejects classes that are larger than 4,080 bytes,
  /// aligned to more than 16, or with tail-allocated elements (subclasses of `ManagedBuffer`). Has no effect on objects
  /// that the compiler puts on the stack. Any thread.
  ///
  /// - Throws: `GuardPagesError`, at the first class that cannot be protected. The classes before it are protected.
  public static func protect(_ types: AnyClass..., policy: Policy = .absorb) throws(GuardPagesError) {
    for type in types { try list(type, policy) }
  }

  /// Ends the protection of a class; objects that are in slots already stay there.
  ///
  /// - Returns: False when the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool {
    // The address is only compared.
    unsafe cs_pages_unlist(metadata(type))
  }

  /// Sets the number of slots, which hold live and freed objects, and the sample rate.
  ///
  /// A used slot takes 4 KiB of memory; at most 4,096 slots, 256 and one in 100 by default. The slot whose object was
  /// freed first is reused first. Fewer slots return memory at once, except those of live objects. Any thread, any
  /// time.
  public static func configure(slots: Int = 256, oneIn: Int = 100) {
    cs_pages_configure(UInt32(clamping: max(0, slots)), UInt32(clamping: max(1, oneIn)))
  }

  /// The reason why guard pages are off in this process; nil if they are on.
  public static var unavailableReason: String? {
    if let reason = Shield.danglingUnavailableReason { return reason }
    // A constant of the C side, or a text that never changes.
    let reason = unsafe String(cString: cs_pages_unavailable())
    return reason.isEmpty ? nil : reason
  }

  private static func list(_ type: AnyClass, _ policy: Policy) throws(GuardPagesError) {
    if let unavailableReason { throw .unavailable(unavailableReason) }
    var name = _typeName(type, qualified: true)
    if hasElements(type) { throw .tailAllocated(name) }
    let metadata = unsafe metadata(type)
    // The offsets of an instance's size and alignment, as the check of the runtime's layout confirmed
    // (`Shield.danglingUnavailableReason`).
    let bytes = unsafe metadata.load(fromByteOffset: 24, as: UInt32.self)
    let alignment = unsafe UInt32(metadata.load(fromByteOffset: 28, as: UInt16.self)) + 1
    let result = name.withUTF8 { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        // The C function copies the name.
        unsafe cs_pages_list(metadata, bytes, alignment, text.baseAddress, UInt32(text.count), policy.code)
      }
    }
    switch result {
    case .CS_PAGES_OK: return
    case .CS_PAGES_TOO_LARGE: throw .unsuitable(name)
    case .CS_PAGES_FULL: throw .tooManyClasses(name)
    case .CS_PAGES_NO_MEMORY: throw .outOfMemory(name)
    default: throw .unavailable(unavailableReason ?? "")
    }
  }

  /// Whether its objects have tail-allocated elements.
  ///
  /// Objects are sampled by size, and such a class has no common one. Only the standard library makes such classes,
  /// `ManagedBuffer` among them.
  private static func hasElements(_ type: AnyClass) -> Bool {
    sequence(first: type, next: { _getSuperclass($0) }).contains { _typeName($0, qualified: true).hasPrefix("Swift.") }
  }

  /// A metatype is the address of the class's metadata.
  static func metadata(_ type: AnyClass) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
  }
}

extension GuardPages.Policy {
  var code: cs_mode { self == .crash ? .CS_MODE_CRASH : .CS_MODE_ABSORB }
}
