// The functions for missing elements; see Misses.swift.
internal import CShimQuarantine
internal import CrashShieldGuards

/// Handles a read of an element; returns nil to do as the standard library.
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

/// Handles a write of an element.
///
/// It has no parameter for the list's length, which saves an instruction in a loop that would keep it for the call.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Liveness.unavailable }) {
    "\(position) is outside of \(list)"
  }
}

/// Handles a change in place: returns a list of one fallback element to change instead, or nil to do as the standard
/// library.
///
/// Not for trivial bytes: a C function may have their address, and write more than one element.
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

/// Handles a change in place of an element of trivial bytes.
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
