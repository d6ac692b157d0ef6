internal import CShimGuardPages
internal import CShimRing
internal import CrashShield

/// Gives some objects of chosen classes a page of their own, which nobody can touch once they are freed.
///
/// What touches such an object all the same is seen by the processor, whatever the optimizer made of the access: a call, a
/// read of a field, a retain. So is what reaches past the object, and freeing it twice.
///
/// ```swift
/// try Shield.start()
/// GuardPages.configure(slots: 512, oneIn: 100)
/// try GuardPages.protect(Session.self, Player.self)
/// ```
///
/// A program that links this library has its `malloc`, `free`, `realloc` and `malloc_usable_size`, which forward to those
/// that it has without it. Until a class is protected that costs three instructions a `malloc` and five a `free`. With
/// another allocator than glibc's, and under a sanitizer, the library forwards everything and `unavailableReason` says why.
///
/// An object is drawn by its size, when it is allocated; what else has that size may be drawn as well, and is counted. A
/// drawn object costs some microseconds, in system calls that change what may be done with its page.
public enum GuardPages: Sendable {
  /// What becomes of the program when it uses memory that it must not.
  public enum Policy: Sendable, Equatable {
    /// The page is opened again, with the object as its deinit left it, and the program goes on.
    ///
    /// Its slot is not used any more. The object is not counted any more either: what retains or releases it does nothing.
    case absorb
    /// The process crashes at that access, and its report says who had freed the object.
    case crash
  }

  /// Looks for objects of these classes from now on; again with another policy changes that.
  ///
  /// Holds for exactly these classes, not for their subclasses. Not for classes that are larger than 4,080 bytes or aligned
  /// to more than 16, nor for those with elements behind their fields (subclasses of `ManagedBuffer`), and without effect for
  /// objects that the compiler puts on the stack. Any thread.
  ///
  /// - Throws: `GuardPagesError`, at the first class that cannot be protected. Those before it are.
  public static func protect(_ types: AnyClass..., policy: Policy = .absorb) throws(GuardPagesError) {
    for type in types { try list(type, policy) }
  }

  /// Ends that for a class; objects that are in slots already stay there.
  ///
  /// - Returns: False when the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool {
    // Compared only.
    unsafe cs_pages_unlist(metadata(type))
  }

  /// How many objects may be in slots at the same time, freed ones included, and that one in so many is drawn.
  ///
  /// Each slot is 4 KiB of memory when it is used, at most 4,096 of them; 256 and one in 100 to begin with. The slot whose
  /// object was freed first is used again first. Fewer slots give memory back at once, but for objects that live. Any
  /// thread, any time.
  public static func configure(slots: Int = 256, oneIn: Int = 100) {
    cs_pages_configure(UInt32(clamping: max(0, slots)), UInt32(clamping: max(1, oneIn)))
  }

  /// The reason why guard pages are off in this process; nil if they are on.
  public static var unavailableReason: String? {
    if let reason = Shield.danglingUnavailableReason { return reason }
    // A constant of the C side, or a text that does not change.
    let reason = unsafe String(cString: cs_pages_unavailable())
    return reason.isEmpty ? nil : reason
  }

  private static func list(_ type: AnyClass, _ policy: Policy) throws(GuardPagesError) {
    if let unavailableReason { throw .unavailable(unavailableReason) }
    var name = _typeName(type, qualified: true)
    if hasElements(type) { throw .tailAllocated(name) }
    let metadata = unsafe metadata(type)
    // Where the runtime's layout was checked to have an instance's size and alignment (`Shield.danglingUnavailableReason`).
    let bytes = unsafe metadata.load(fromByteOffset: 24, as: UInt32.self)
    let alignment = unsafe UInt32(metadata.load(fromByteOffset: 28, as: UInt16.self)) + 1
    let result = name.withUTF8 { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        // It copies the name.
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

  /// Whether its objects have elements behind their fields.
  ///
  /// An object is drawn by its size, which the class tells only of those without. The standard library alone makes such
  /// classes, `ManagedBuffer` among them.
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
