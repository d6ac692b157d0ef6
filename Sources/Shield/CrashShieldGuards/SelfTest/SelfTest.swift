internal import Synchronization

/// The faults that self-tests cause.
///
/// A self-test fault has a line number that no source file can have. This line number distinguishes the fault from the
/// program's faults, on any thread. The table of checks is lock-free, like the table of faults.
enum SelfTest {
  /// The maximum number of concurrent checks in all threads.
  private static let limit = 64
  private static let kindBits = UInt64(8)
  private static let tagShift = UInt64(32)

  private static let begun = Atomic<UInt64>(0)
  /// One word for each running check; 0 means that the entry is free.
  ///
  /// The upper 32 bits are the number of the check. Each byte of the lower 32 bits is the kind of a recorded fault.
  private static let places = InlineArray<64, Atomic<UInt64>> { _ in Atomic(0) }

  /// Returns the line for the faults of one check; nil if too many checks are running.
  static func begin() -> UInt? {
    for _ in 0..<limit {
      let number = begun.wrappingAdd(1, ordering: .relaxed).newValue & UInt64(UInt32.max)
      guard number != 0 else { continue }
      let (isTaken, _) = places[index(of: number)].compareExchange(
        expected: 0, desired: number << tagShift, ordering: .acquiringAndReleasing)
      if isTaken { return UInt(UInt32.max) + UInt(number) }
    }
    return nil
  }

  /// Ends the check and returns the kinds of its recorded faults, at most the first four.
  static func end(_ line: UInt) -> [ShieldKind] {
    var met = places[index(of: number(line))].exchange(0, ordering: .acquiringAndReleasing) & UInt64(UInt32.max)
    var kinds: [ShieldKind] = []
    while met != 0 {
      if let kind = ShieldKind(rawValue: UInt8(truncatingIfNeeded: met)) { kinds.append(kind) }
      met >>= kindBits
    }
    return kinds
  }

  /// Whether a self-test caused the fault.
  static func hasMade(_ site: ShieldSite) -> Bool { site.line > UInt(UInt32.max) }

  /// Stores the kind of a self-test's fault instead of recording the fault; evaluates the reason, as for a recorded
  /// fault.
  static func meet(_ kind: ShieldKind, _ site: ShieldSite, _ reason: () -> String) {
    _ = reason()
    let number = number(site.line)
    var found = places[index(of: number)].load(ordering: .acquiring)
    // Drop a fault that arrives after the end of its check.
    while found >> tagShift == number {
      var shift = UInt64(0)
      while shift < tagShift, (found >> shift) & 0xFF != 0 { shift += kindBits }
      guard shift < tagShift else { return }
      let (isKept, now) = places[index(of: number)].compareExchange(
        expected: found, desired: found | UInt64(kind.rawValue) << shift, ordering: .acquiringAndReleasing)
      if isKept { return }
      found = now
    }
  }

  private static func number(_ line: UInt) -> UInt64 { UInt64(line &- UInt(UInt32.max)) }

  private static func index(of number: UInt64) -> Int { Int(number % UInt64(limit)) }

  /// Hides a value from the optimizer.
  ///
  /// Without this function, the optimizer could detect the fault at compile time and remove the guard. The optimizer
  /// could also reject a weak reference to an object that it knows is deallocated.
  @inline(never)
  @_optimize(none)
  static func unknown<Value>(_ value: Value) -> Value { value }
}
