/// Classifies Swift functions by the short names that the demangler prints.
///
/// In front of a function's name, Swift's demangler prints words for the kind of function, for example `specialized
/// partial apply for closure #1 in …`. An identifier of the program cannot look like these words, because the demangler
/// prints identifiers that contain spaces in backticks.
enum SwiftNameKind {
  /// The words for thunks (functions that only forward to another function), as the demangler prints them with
  /// `SimplifiedUIDemangleOptions`.
  ///
  /// The comment after an element names the kinds of demangler nodes for which these words are printed.
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

  /// Whether a short name belongs to a thunk, including a specialized thunk.
  static func isThunk(short name: String) -> Bool {
    let bytes = Array(name.utf8)
    let entity = bytes.starts(with: specialized) ? bytes.dropFirst(specialized.count) : bytes[...]
    return thunks.contains(where: entity.starts(with:))
  }
}
