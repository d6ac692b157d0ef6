// Functions that handle faults of the implicit guards of `Data`. Misses.swift of CrashShieldImplicit explains how such
// functions find the call site.
internal import CShimQuarantine
internal import CrashShield
internal import CrashShieldGuards
internal import CrashShieldImplicit

/// Handles the read of a byte out of bounds.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.index, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// Handles the write of a byte out of bounds.
@_optimize(none)
@inline(never)
@usableFromInline
func handleChangeFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// Handles a range that is out of bounds.
@_optimize(none)
@inline(never)
@usableFromInline
func handleRangeFault(_ range: Range<Int>, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.range, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(range.lowerBound)..<\(range.upperBound) is outside of \(lower)..<\(upper) of \(list)"
  }
}
