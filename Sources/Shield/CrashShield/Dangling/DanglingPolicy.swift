internal import CShimQuarantine
package import CShimRing

/// The treatment of a deallocated object of a protected class, and of accesses to it.
///
/// Under each policy the quarantine keeps the object's memory for a while and records accesses to it. Weak references
/// become nil at once, and `unowned` references trap as in plain Swift.
public enum DanglingPolicy: Sendable, Equatable, CaseIterable {
  /// Leaves the object intact; its deinit runs when it leaves the quarantine, on a thread of the shield.
  ///
  /// An access finds the object intact, and what it refers to lives on. Do not use it for classes whose deinit must run
  /// at once. Examples are a deinit that ends a transaction, or that unregisters the object from a timer or a C
  /// library: calls from those would count as mistakes of the program.
  case absorb
  /// Runs the deinit at once and empties the fields; virtual calls return zero, false, nil or an empty string.
  ///
  /// Numbers are zero, optionals nil, strings and collections empty. A field whose type has no empty value, such as a
  /// non-optional reference or a closure, stays as the deinit left it. A result that is larger than four words, generic
  /// or a non-optional reference (an array is one) has no such zero: a caller that uses it may still crash.
  case zero
  /// Runs the deinit at once and fills the fields with a value that is no valid pointer and carries the number of the
  /// freed-object record.
  ///
  /// A program that follows such a field crashes, and the registers in the report show that number.
  case diagnose

  /// The value of the C interface.
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
