// The functions for missing elements; see Misses.swift.
internal import CShimQuarantine
internal import CrashShieldGuards

/// An element that is read; nil: as in the standard library.
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

/// An element that is written.
///
/// It is not told how long the list is: what is only looked at in a loop takes an instruction less than what is kept for a call.
@_optimize(none)
@inline(never)
@usableFromInline
func handleElementFault(_ position: Int, _ list: Any.Type) -> Bool {
  let pc = UInt(cs_quarantine_caller())
  return ImplicitGuards.handleFault(.mutation, at: .pc(pc), unless: { Liveness.unavailable }) {
    "\(position) is outside of \(list)"
  }
}

/// An element that is changed where it lies, in a list of one element that is changed in its place; nil: as in the standard library.
///
/// Not if it is nothing but bytes, which a function in C may have been given the address of, and more elements to write than one.
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

/// The same of an element that is nothing but bytes.
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
