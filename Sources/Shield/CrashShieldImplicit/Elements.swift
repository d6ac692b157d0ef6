// Functions that handle accesses to elements out of bounds. Misses.swift explains how these functions find the call
// site.
internal import CShimQuarantine
internal import CrashShieldGuards

/// Handles the read of an element out of bounds; returns a fallback value, or nil if the caller must perform the plain
/// operation.
@_optimize(none)
@inline(never)
@usableFromInline
func missingElement<Element>(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> Element? {
  let pc = UInt(cs_quarantine_caller())
  let isAbsorbed = ImplicitGuards.handleFault(
    .index, at: .pc(pc), hasValue: DefaultValue.exists(of: Element.self), unless: { Liveness.unavailable }
  ) { reason(position, lower, upper, list) }
  return isAbsorbed ? DefaultValue.value() : nil
}

/// Handles the write of an element out of bounds; returns false if the caller must perform the plain operation.
///
/// The list's length is not a parameter, because each loop would need one more instruction to keep the length for this
/// call.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Liveness.unavailable }) {
    "\(position) is outside of \(list)"
  }
}

/// Handles an in-place change, such as `list[i].append(x)`, of an element out of bounds.
///
/// Returns a list of one fallback element, which the caller changes in place of its own list, or nil if the caller must
/// perform the plain operation. Trivial elements have no fallback element, because a C function can receive the
/// element's address and write the following elements, too.
@_optimize(none)
@inline(never)
@usableFromInline
func listOfMissing<List: RangeReplaceableCollection>(
  _ position: Int, _ lower: Int, _ upper: Int, _: List.Type
) -> List? {
  let pc = UInt(cs_quarantine_caller())
  let isAbsorbed = ImplicitGuards.handleFault(
    .mutation, at: .pc(pc), hasValue: !_isPOD(List.Element.self) && DefaultValue.exists(of: List.Element.self),
    unless: { Liveness.unavailable }
  ) { reason(position, lower, upper, List.self) }
  guard isAbsorbed, let value: List.Element = DefaultValue.value() else { return nil }
  return List(CollectionOfOne(value))
}

/// Records an in-place change of a trivial element out of bounds; the caller then performs the plain operation.
@_optimize(none)
@inline(never)
@usableFromInline
func recordElementFault(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) {
  let pc = UInt(cs_quarantine_caller())
  _ = ImplicitGuards.handleFault(.mutation, at: .pc(pc), hasValue: false, unless: { Liveness.unavailable }) {
    reason(position, lower, upper, list)
  }
}

private func reason(_ position: Int, _ lower: Int, _ upper: Int, _ list: Any.Type) -> String {
  "\(position) is outside of \(lower)..<\(upper) of \(list)"
}
