// Functions that handle faults of implicit guards. Each function reads its return address, which is the call site in
// the program's faulting function. Therefore each function is neither inlined nor optimized, so that it has a frame of
// its own. Also, each caller must use the result: the compiler turns a call in tail position into a jump, which does
// not push a return address.
internal import CShimQuarantine
internal import CrashShieldGuards

/// The arithmetic operation that failed.
@usableFromInline
enum Operation: UInt8, Sendable {
  case sum, difference, product, quotient, remainder, negation
}

@_optimize(none)
@inline(never)
@usableFromInline
func handleArithmeticFault(_ operation: Operation, _ type: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.arithmetic, at: .pc(pc), unless: { Liveness.unavailable }) {
    "the \(operation) is out of bounds of \(type)"
  }
}

/// Handles an index or range of a string that is out of bounds.
@_optimize(none)
@inline(never)
@usableFromInline
func handleCharacterFault(_ type: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.stringIndex, at: .pc(pc), unless: { Liveness.unavailable }) {
    "a position outside of a \(type)"
  }
}

/// Handles a range of a list that is out of bounds.
@_optimize(none)
@inline(never)
@usableFromInline
func handleRangeFault(_ range: Range<Int>, _ lower: Int, _ upper: Int, _ type: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.range, at: .pc(pc), unless: { Liveness.unavailable }) {
    "\(range.lowerBound)..<\(range.upperBound) is outside of \(lower)..<\(upper) of \(type)"
  }
}
