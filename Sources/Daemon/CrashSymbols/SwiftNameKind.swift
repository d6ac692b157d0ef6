/// Classifies functions by their short names.
///
/// Swift's demangler writes words for the kinds of its nodes before an entity: `specialized partial apply for closure
/// #1 in …`. A name from the program cannot look like this, because a name with blanks is in backticks.
enum SwiftNameKind {
  /// The nodes of functions that only forward to another one, as `SimplifiedUIDemangleOptions` prints them.
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

  /// Whether a short name is the name of a thunk, specialized or not.
  static func isThunk(short name: String) -> Bool {
    let bytes = Array(name.utf8)
    let entity = bytes.starts(with: specialized) ? bytes.dropFirst(specialized.count) : bytes[...]
    return thunks.contains(where: entity.starts(with:))
  }
}
