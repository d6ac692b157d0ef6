// What is called where a fault was met, as CrashShieldImplicit's Misses.swift says.
internal import CShimQuarantine
internal import CrashShield
internal import CrashShieldGuards
internal import CrashShieldImplicit

/// An element that is read.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.index, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// An element that is written.
@_optimize(none)
@inline(never)
@usableFromInline
func handleChangeFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(position) is outside of \(lower)..<\(upper) of \(list)"
  }
}

/// A part of a list.
@_optimize(none)
@inline(never)
@usableFromInline
func handleRangeFault(_ range: Range<Int>, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.range, at: .pc(pc), unless: { Shield.implicitUnavailableReason }) {
    "\(range.lowerBound)..<\(range.upperBound) is outside of \(lower)..<\(upper) of \(list)"
  }
}
