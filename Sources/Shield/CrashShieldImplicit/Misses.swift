// The functions for faults. Each reads its return address at once, and is not optimized: so it has a frame of its own,
// whose return address is in the program's faulting function. The callers use the results: a call in tail position would
// be a jump, and leave no return address.
internal import CShimQuarantine
internal import CrashShieldGuards

/// The failed operation.
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

/// Handles a character, or a part of a text.
@_optimize(none)
@inline(never)
@usableFromInline
func handleCharacterFault(_ type: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.stringIndex, at: .pc(pc), unless: { Liveness.unavailable }) {
    "a position outside of a \(type)"
  }
}

/// Handles a slice of a list.
@_optimize(none)
@inline(never)
@usableFromInline
func handleRangeFault(_ range: Range<Int>, _ lower: Int, _ upper: Int, _ type: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.range, at: .pc(pc), unless: { Liveness.unavailable }) {
    "\(range.lowerBound)..<\(range.upperBound) is outside of \(lower)..<\(upper) of \(type)"
  }
}
