internal import CShimQuarantine
package import CShimRing

/// The treatment of a deallocated object of a protected class, and of later accesses to the object.
///
/// Under each policy the quarantine keeps the object's memory for a while and records accesses to it. Weak references
/// become nil at once, and `unowned` references trap, as in plain Swift.
public enum DanglingPolicy: Sendable, Equatable, CaseIterable {
  /// Keeps the object intact; its deinit runs on a thread of the shield when the object leaves the quarantine.
  ///
  /// An access finds the object intact, and the objects that it refers to stay alive. Do not use this policy for
  /// classes whose deinit must run at once. One example is a deinit that ends a transaction. Another example is a
  /// deinit that unregisters the object from a timer or a C library. A later callback of this timer or library would be
  /// recorded as a use-after-free.
  case absorb
  /// Runs the deinit at once and sets the fields to empty values; virtual calls return zero, false, nil or an empty
  /// string.
  ///
  /// Numbers become zero, optionals nil, and strings and collections empty. A field whose type has no empty value, such
  /// as a non-optional reference or a closure, keeps the value that the deinit left. Some results of virtual calls have
  /// no zero value: results larger than four words, generic results, and non-optional references (such as an array). A
  /// caller that uses one of these results can still crash.
  case zero
  /// Runs the deinit at once and fills the fields with a value that is not a valid pointer.
  ///
  /// The value contains the number of the record that the quarantine keeps about the freed object. A program that
  /// dereferences such a field crashes, and the registers in the report show that number.
  case diagnose

  /// The policy as a constant of the C interface.
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
