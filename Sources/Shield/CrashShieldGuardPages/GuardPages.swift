internal import CShimGuardPages
internal import CShimRing
internal import CrashShield

/// Sampled guard pages, as in GWP-ASan: they detect accesses to freed objects of the chosen classes.
///
/// A sampled object gets a page of its own, which becomes inaccessible when the object is freed. After that, each
/// access to the object faults, even an access by inlined code: a call, a field read, a retain. An access past the
/// object faults, too. The library's `free` detects a double free.
///
/// ```swift
/// Shield.start()
/// GuardPages.configure(slots: 512, oneIn: 100)
/// try GuardPages.protect(Session.self, Player.self)
/// ```
///
/// This library replaces `malloc`, `free`, `realloc` and `malloc_usable_size` of the program that links it, and
/// forwards to the original functions. Until a class is protected, forwarding costs three instructions for each
/// `malloc` and five for each `free` on x86-64, and nine and twelve on AArch64. If the allocator is not glibc's, or under
/// a sanitizer, the library only forwards the calls, and `unavailableReason` returns the reason.
///
/// The library samples allocations by size. Other allocations of the same size can be sampled as well;
/// `Statistics.others` counts them. A sampled object costs some microseconds, for the system calls that change the
/// protection of its page.
public enum GuardPages: Sendable {
  /// The policy of a class: the reaction to an invalid use of guarded memory.
  public enum Policy: Sendable, Equatable {
    /// Makes the page accessible again, so that the program continues.
    ///
    /// The program finds the object in the state in which the deinit left it. The slot is not used again. Later retains
    /// and releases of the object have no effect.
    case absorb
    /// Lets the access crash the process; the report shows the stack that freed the object.
    case crash
  }

  /// Samples objects of these classes from now on; a second call for a class changes its policy.
  ///
  /// Protects exactly these classes, not their subclasses. Rejects classes whose objects are larger than 4,080 bytes,
  /// are aligned to more than 16 bytes, or have tail-allocated elements (subclasses of `ManagedBuffer`). Has no effect
  /// on objects that the compiler puts on the stack. May be called from any thread.
  ///
  /// - Throws: `GuardPagesError` for the first class that cannot be protected. The classes before it are protected.
  public static func protect(_ types: AnyClass..., policy: Policy = .absorb) throws(GuardPagesError) {
    for type in types { try list(type, policy) }
  }

  /// Ends the protection of a class; objects that are already in slots stay there.
  ///
  /// - Returns: False if the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool {
    // Invariant: the C function compares the address and does not dereference it.
    unsafe cs_pages_unlist(metadata(type))
  }

  /// Sets the number of slots, which hold live and freed objects, and the sample rate.
  ///
  /// At most 4,096 slots are possible; the defaults are 256 slots and one in 100 allocations. A used slot takes a page
  /// of memory: 4 KiB, or on some kernels for AArch64 16 or 64 KiB. Slots of freed objects are reused in the order in
  /// which the objects were freed. Reducing the number of slots returns the memory of unused slots and of freed objects
  /// at once. May be called from any thread at any time.
  public static func configure(slots: Int = 256, oneIn: Int = 100) {
    cs_pages_configure(UInt32(clamping: max(0, slots)), UInt32(clamping: max(1, oneIn)))
  }

  /// The reason why guard pages are off in this process; nil if they are on.
  public static var unavailableReason: String? {
    if let reason = Shield.danglingUnavailableReason { return reason }
    // Invariant: the C function returns a string that is never freed or changed.
    let reason = unsafe String(cString: cs_pages_unavailable())
    return reason.isEmpty ? nil : reason
  }

  private static func list(_ type: AnyClass, _ policy: Policy) throws(GuardPagesError) {
    if let unavailableReason { throw .unavailable(unavailableReason) }
    var name = _typeName(type, qualified: true)
    if hasElements(type) { throw .tailAllocated(name) }
    let metadata = unsafe metadata(type)
    // Invariant: the metadata of a class has the size of its instances at offset 24, and their alignment mask at offset
    // 28. The runtime layout probe has checked both offsets (`Shield.danglingUnavailableReason`).
    let bytes = unsafe metadata.load(fromByteOffset: 24, as: UInt32.self)
    let alignment = unsafe UInt32(metadata.load(fromByteOffset: 28, as: UInt16.self)) + 1
    let result = name.withUTF8 { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        // Invariant: the C function copies the name.
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

  /// Whether objects of the class have tail-allocated elements.
  ///
  /// The library samples objects by size, but objects with tail-allocated elements do not have one common size. Only
  /// classes of the standard library, such as `ManagedBuffer`, and their subclasses have tail-allocated elements.
  private static func hasElements(_ type: AnyClass) -> Bool {
    sequence(first: type, next: { _getSuperclass($0) }).contains { _typeName($0, qualified: true).hasPrefix("Swift.") }
  }

  /// Returns the address of a class's metadata, which is what the metatype contains.
  static func metadata(_ type: AnyClass) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
  }
}

extension GuardPages.Policy {
  var code: cs_mode { self == .crash ? .CS_MODE_CRASH : .CS_MODE_ABSORB }
}
