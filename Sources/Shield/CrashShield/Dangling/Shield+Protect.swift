internal import CShimQuarantine

extension Shield {
  /// Quarantines deallocated objects of these classes, and records accesses to them.
  ///
  /// ```swift
  /// try Shield.protect(Session.self, Player.self)
  /// ```
  ///
  /// Applies to exactly these classes: not to their subclasses, and to one instantiation of a generic class. The
  /// quarantine keeps the last `limit` objects of each class, and a few others chosen at random, within
  /// `setDanglingBudget`.
  ///
  /// Other classes pay nothing. A dealloc of a protected class costs 78 instructions more, 190 with a stack of eight
  /// frames; under `absorb` 38 and 159 on the releasing thread (`docs/dangling-cost.md`). Protecting a class again
  /// changes its policy and its limit. Any thread, also while other threads use the class.
  ///
  /// An operator's override through crashd (`crashctl dangling protect`, `release`) takes precedence over this call,
  /// and this call over crashd's automatic protection. `Configuration.allowsRemoteControl` disables both.
  ///
  /// The quarantine detects virtual calls and excess releases at once, and writes to fields and excess retains when the
  /// object leaves it. It does not detect field reads and devirtualized calls: the object's memory is
  /// still there, and they do not look at its class.
  ///
  /// It does not keep an object with `unowned` references at its last release, or on the stack. A forked child of a
  /// process with protected classes keeps none.
  ///
  /// While an object is in quarantine, `type(of:)` returns a subclass of its class, so a cast to a final class fails.
  ///
  /// - Throws: `ProtectionError`, at the first class that cannot be protected. The classes before it are protected.
  public static func protect(
    _ types: AnyClass..., policy: DanglingPolicy = .zero, limit: Int = 50
  ) throws(ProtectionError) {
    for type in types { try Protections.shared.protect(type, policy, limit: limit) }
  }

  /// The reason why the quarantine is off in this process, such as a sanitizer or an unknown Swift runtime layout; nil if it is on.
  public static var danglingUnavailableReason: String? { Quarantine.unavailable }

  /// Ends the protection of a class.
  ///
  /// Its objects leave the quarantine, which under `absorb` runs their deinits. Any thread. crashd does not protect the
  /// class automatically afterwards; an operator's override keeps it protected.
  ///
  /// - Returns: False when the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool { Protections.shared.unprotect(type) }

  /// Sets how many bytes the quarantine may hold in this process, objects and their records together; 1 MiB by default.
  ///
  /// Counts the objects' own memory and their records, not what they refer to. Under `absorb` another eighth may wait
  /// for deinits. A smaller budget takes effect as objects are released. Stacks, incidents and freed-object records
  /// take up to 1.5 MiB more, as they are used. An operator's override through crashd takes precedence over this call.
  public static func setDanglingBudget(bytes: Int) { Protections.shared.setBudget(UInt64(clamping: bytes)) }

  /// Sets whether the quarantine records the stack of each last release; on by default.
  ///
  /// Without stacks a dealloc of a protected class is cheaper, and incidents do not show who released the object.
  public static func setDanglingStacks(_ isOn: Bool) { Protections.shared.setStacks(isOn) }

  /// Deallocates all objects in quarantine, and returns after their deinits; meanwhile the quarantine keeps no object.
  ///
  /// For a server's shutdown that needs every deinit, and for tests. Precondition: not called from a deinit.
  public static func drainQuarantine() { cs_quarantine_drain() }
}
