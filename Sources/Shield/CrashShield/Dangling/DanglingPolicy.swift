internal import CShimQuarantine
package import CShimRing

/// What becomes of an object of a protected class after its last release, and of what still touches it.
///
/// Under each policy the object's memory is kept for a while, weak references are nil at once, `unowned` ones trap as
/// Swift does, and what touches the object is recorded.
public enum DanglingPolicy: Sendable, Equatable, CaseIterable {
  /// The object stays as it was, and its deinit runs when it leaves the quarantine, on a thread of the shield's own.
  ///
  /// Whatever touches the object meanwhile finds it intact, and what it refers to lives on. Not for classes whose deinit
  /// must run at once: one that ends a transaction, or that takes the object out of what still calls it, such as a timer or
  /// a C library, so that those calls are no mistakes of the program.
  case absorb
  /// The deinit runs at once and the fields are empty; virtual calls return zero, false, nil or an empty string.
  ///
  /// Numbers are zero, optionals nil, strings and collections empty. A field whose type has no empty value, such as a
  /// non-optional reference or a closure, stays as the deinit left it. A result that is larger than four words, generic or a
  /// non-optional reference (an array is one) has no such zero: a caller that uses it may still crash.
  case zero
  /// The deinit runs at once and the fields are filled with a value that no pointer has; it carries the record's number.
  ///
  /// What follows such a field crashes, and the registers of the report show that number.
  case diagnose

  /// As the C side says it.
  package var code: cs_mode {
    switch self {
    case .absorb: .CS_MODE_ABSORB
    case .zero: .CS_MODE_ZERO
    case .diagnose: .CS_MODE_DIAGNOSE
    }
  }

  package init(_ code: cs_mode) {
    switch code {
    case .CS_MODE_ZERO: self = .zero
    case .CS_MODE_DIAGNOSE: self = .diagnose
    default: self = .absorb
    }
  }
}
