/// Classifies Swift functions by their short names.
///
/// Swift's demangler puts words for the kinds of nodes before an entity: `specialized partial apply for closure #1 in
/// …`. An identifier of the program cannot look like these words, because the demangler puts identifiers with blanks in
/// backticks.
enum SwiftNameKind {
  /// The words for functions that only forward to another function, as `SimplifiedUIDemangleOptions` prints them.
  private static let thunks = [
    "partial apply for ",  // PartialApplyForwarder, PartialApplyObjCForwarder
    "thunk for ",  // ReabstractionThunk, …Helper, …HelperWithSelf, …HelperWithGlobalActor
    "protocol witness for ",  // ProtocolWitness
    "protocol self-conformance witness for ",  // ProtocolSelfConformanceWitness
    "@objc ", "@nonobjc ",  // ObjCAttribute, NonObjCAttribute
    "dispatch thunk of ",  // DispatchThunk
    "curry thunk of ",  // CurryThunk
    "vtable thunk for ",  // VTableThunk
    "back deployment thunk for ",  // BackDeploymentThunk
    "autodiff subset parameters thunk for ",  // AutoDiffSubsetParametersThunk
    "autodiff self-reordering reabstraction thunk for ",  // AutoDiffSelfReorderingReabstractionThunk
    "key path getter for ", "key path setter for ",  // KeyPathGetterThunkHelper, KeyPathSetterThunkHelper
    "key path index equality operator for ",  // KeyPathEqualsThunkHelper
    "key path index hash operator for ",  // KeyPathHashThunkHelper
  ].map { Array($0.utf8) }

  private static let specialized = Array("specialized ".utf8)

  /// Whether a short name belongs to a thunk, specialized or not.
  static func isThunk(short name: String) -> Bool {
    let bytes = Array(name.utf8)
    let entity = bytes.starts(with: specialized) ? bytes.dropFirst(specialized.count) : bytes[...]
    return thunks.contains(where: entity.starts(with:))
  }
}
