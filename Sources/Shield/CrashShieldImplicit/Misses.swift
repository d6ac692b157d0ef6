// Functions that handle faults. Each reads its return address, which is the call site in the program's faulting
// function. For this, each function must have a frame of its own: it is not inlined and not optimized. Also, each
// caller must use the result, because a call in tail position would be a jump, which leaves no return address.
internal import CShimQuarantine
internal import CrashShieldGuards

/// The operation that failed.
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
