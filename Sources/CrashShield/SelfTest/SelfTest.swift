internal import Synchronization

/// The faults that self-tests make.
///
/// They are told from the program's by their line, which no source has, so on whatever thread a guard meets them.
enum SelfTest {
  private static let begun = Atomic<UInt>(0)
  private static let met = Mutex<[UInt: [ShieldKind]]>([:])

  /// The line for the faults of one check.
  static func begin() -> UInt {
    let line = UInt(UInt32.max) + begun.wrappingAdd(1, ordering: .relaxed).newValue
    met.withLock { $0[line] = [] }
    return line
  }

  /// The faults that were met.
  static func end(_ line: UInt) -> [ShieldKind] { met.withLock { $0.removeValue(forKey: line) } ?? [] }

  /// Whether a fault is of a self-test.
  static func hasMade(_ site: ShieldSite) -> Bool { site.line > UInt(UInt32.max) }

  /// In place of a record; the reason is made as for one.
  static func meet(_ kind: ShieldKind, _ site: ShieldSite, _ reason: () -> String) {
    _ = reason()
    // One that comes after the end is nobody's any more.
    met.withLock { $0[site.line]?.append(kind) }
  }

  /// A value that the optimizer does not know: else it would find a fault where it is written, and leave out the guard.
  @inline(never)
  @_optimize(none)
  static func unknown<Value>(_ value: Value) -> Value { value }
}
