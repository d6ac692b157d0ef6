internal import CShimQuarantine

extension Shield {
  /// Keeps objects of these classes for a while after their last release, and records what still touches them.
  ///
  /// ```swift
  /// try Shield.protect(Session.self, Player.self)
  /// ```
  ///
  /// Holds for exactly these classes: not for their subclasses, and of a generic class for the one instantiation. The
  /// last `limit` objects of each are kept, and a few others chosen at random, as far as `danglingBudgetBytes` reaches.
  /// Other classes pay nothing. Of a protected one each dealloc costs some 80 instructions more, 190 with a stack of eight
  /// frames; under `absorb` 40 and 160 on the thread that releases (docs/dangling-cost.md).
  /// Protecting a class again changes its policy and its limit. Any thread, while others use the class.
  ///
  /// What an operator says of the class by crashd (`crashctl dangling protect`, `release`) is stronger than this call, what
  /// crashd finds by itself is weaker; `Configuration.allowsRemoteControl` forbids both.
  ///
  /// Seen are virtual calls, releases too many, and at the end writes to fields and retains too many. A call that the
  /// optimizer made direct, and a read of a field, find the object but are not seen.
  ///
  /// An object that has `unowned` references at its last release, or lies on the stack, goes as it always went. So does
  /// every object in a forked child of a process with protected classes.
  ///
  /// While an object is in quarantine, `type(of:)` gives a class that is a subclass of its own, so a cast to a final
  /// class does not find it.
  ///
  /// - Throws: `ProtectionError`, at the first class that cannot be protected. Those before it are.
  public static func protect(
    _ types: AnyClass..., policy: DanglingPolicy = .zero, limit: Int = 50
  ) throws(ProtectionError) {
    for type in types { try Protections.shared.protect(type, policy, limit: limit) }
  }

  /// The reason why the quarantine is off in this process, such as a sanitizer or an unknown Swift runtime layout; nil if it is on.
  public static var danglingUnavailableReason: String? { Quarantine.unavailable }

  /// Ends the protection of a class.
  ///
  /// Its objects that are in quarantine leave it, which under `absorb` runs their deinits. Any thread. crashd does not
  /// protect the class by itself afterwards; where an operator has said so, it stays protected.
  ///
  /// - Returns: False when the class was not protected.
  @discardableResult
  public static func unprotect(_ type: AnyClass) -> Bool { Protections.shared.unprotect(type) }

  /// How many bytes the quarantine may hold in this process, objects and their records together; 1 MiB to begin with.
  ///
  /// Counted are the objects' own memory and their records, not what they refer to. Under `absorb` another eighth may wait
  /// for deinits. A smaller budget takes effect as objects are released. Stacks, incidents and ghost records take up to
  /// 1.5 MiB besides, as they are used. An operator's word to crashd is stronger than this call.
  public static func setDanglingBudget(bytes: Int) { Protections.shared.setBudget(UInt64(clamping: bytes)) }

  /// The bytes that the quarantine holds now.
  public static var danglingBytes: Int { Int(clamping: cs_quarantine_bytes()) }

  /// Whether the stack of the last release is taken for each object, as it is to begin with.
  ///
  /// Without it a dealloc of a protected class is cheaper, and incidents do not say who released the object.
  public static func setDanglingStacks(_ isOn: Bool) { Protections.shared.setStacks(isOn) }

  /// Gives back all objects in quarantine, and returns when their deinits have run; meanwhile none comes in.
  ///
  /// For the end of a server that wants every deinit, and for tests. Not from within a deinit.
  public static func drainQuarantine() { cs_quarantine_drain() }
}
