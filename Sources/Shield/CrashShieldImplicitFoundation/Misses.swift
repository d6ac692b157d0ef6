// The functions that handle faults, as those of CrashShieldImplicit's Misses.swift.
internal import CShimQuarantine
internal import CrashShield
internal import CrashShieldGuards
internal import CrashShieldImplicit

/// Handles a read of an element.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.index, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// Handles a write of an element.
@_optimize(none)
@inline(never)
@usableFromInline
func handleChangeFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// Handles a slice.
@_optimize(none)
@inline(never)
@usableFromInline
func handleRangeFault(_ range: Range<Int>, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.range, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(range.lowerBound)..<\(range.upperBound) is outside of \(lower)..<\(upper) of \(list)"
  }
}
