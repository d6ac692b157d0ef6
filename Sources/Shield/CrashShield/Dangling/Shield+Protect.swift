internal import CShimQuarantine

extension Shield {
  /// Quarantines deallocated objects of these classes, and records accesses to them.
  ///
  /// ```swift
  /// try Shield.protect(Session.self, Player.self)
  /// ```
  ///
  /// Protects exactly these classes, without their subclasses. For a generic class, protects only the given
  /// instantiation. The quarantine keeps the last `limit` deallocated objects of each class, and up to a fifth more
  /// that it chooses at random, within the budget of `setDanglingBudget`.
  ///
  /// Classes that are not protected cost nothing. The dealloc of an object of a protected class costs 78 instructions
  /// more than without protection, or 190 more if it records a stack of eight frames. Under `absorb`, the releasing
  /// thread executes 38 or 159 instructions more (`docs/dangling-cost.md`). A second call for a class changes the
  /// policy and the limit of this class. May be called from any thread, also while other threads use the class.
  ///
  /// An operator's override through crashd (`crashctl dangling protect`, `release`) takes precedence over this call.
  /// This call takes precedence over crashd's automatic protection. `Configuration.allowsRemoteControl` can disable
  /// both the overrides and the automatic protection.
  ///
  /// The quarantine detects virtual calls and excess releases at once. The quarantine detects writes to fields and
  /// excess retains when the object leaves the quarantine. The quarantine does not detect field reads and devirtualized
  /// calls, because these accesses do not use the class pointer of the object, and the object's memory is still mapped.
  ///
  /// The quarantine does not keep an object on the stack, or an object that has `unowned` references at its last
  /// release. In a forked child of a process with protected classes, the quarantine keeps no objects.
  ///
  /// While an object is in quarantine, `type(of:)` returns a subclass of its class. A cast to a final class then fails.
  ///
  /// - Throws: `ProtectionError` for the first class that cannot be protected. The classes that precede it in the
  ///   arguments are protected.
  public static func protect(
    _ types: AnyClass..., policy: DanglingPolicy = .zero, limit: Int = 50
  ) throws(ProtectionError) {
    for type in types { try Protections.shared.protect(type, policy, limit: limit) }
  }

  /// The reason why the quarantine is off in this process; nil if the quarantine is on.
  ///
  /// Reasons are, for example, a sanitizer or an unknown layout of the Swift runtime's objects.
  public static var danglingUnavailableReason: String? { Quarantine.unavailable }

  /// Ends the protection of a class.
  ///
  /// The objects of the class leave the quarantine. Under `absorb`, the deinits of the objects that leave the
  /// quarantine run now. May be called from any thread. After this call, crashd does not protect the class
  /// automatically, but an operator's override keeps the class protected.
  ///
  /// - Returns: False if the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool { Protections.shared.unprotect(type) }

  /// Sets how many bytes the quarantine can hold in this process; 1 MiB by default.
  ///
  /// The budget covers the memory of the quarantined objects and their records, but not the memory of other objects to
  /// which they refer. Under `absorb`, objects that wait for their deinits can take another eighth of the budget. A
  /// smaller budget takes effect gradually, as objects are released. Stacks, incidents and freed-object records take up
  /// to 1.5 MiB in addition to the budget; these pages become resident when they are used. An operator's override
  /// through crashd takes precedence over this call.
  public static func setDanglingBudget(bytes: Int) { Protections.shared.setBudget(UInt64(clamping: bytes)) }

  /// Sets whether the quarantine records the call stack of each last release; on by default.
  ///
  /// Without stacks, a dealloc of an object of a protected class is cheaper, but incidents do not show which code
  /// released the object.
  public static func setDanglingStacks(_ isOn: Bool) { Protections.shared.setStacks(isOn) }

  /// Deallocates all objects in quarantine, and returns after their deinits have run.
  ///
  /// While this function runs, the quarantine does not keep any further object. Call this function in tests, and when a
  /// server shuts down and every deinit must have run. Precondition: the caller is not a deinit.
  public static func drainQuarantine() { cs_quarantine_drain() }
}
