/// What a throwing guard throws in place of a trap.
public enum ShieldFault: Error, Sendable, Equatable {
  /// A value was nil.
  case missing(String)
  /// A continuation was let go without being resumed.
  case leaked
  /// What was asked for is not there: outside of a range, not of the type, not in the state.
  case refused(String)
  /// Isolated work has trapped: it will never end, and what it had to others is lost.
  case trapped
}
