import CrashShield

/// A kind of access to an object after its last release.
enum Kind: String, CaseIterable {
  case virtualCall = "virtual-call"
  case devirtualisedCall = "devirtualised-call"
  case fieldRead = "field-read"
  case fieldWrite = "field-write"
  case retain
  case retainRelease = "release"
  case overRelease = "over-release"
  case callback = "c-callback"
  case asyncMethod = "async-method"
  case closureCapture = "closure-capture"
  case protocolWitness = "protocol-witness"
  case genericClass = "generic-class"

  /// Accesses a deallocated object with this access kind.
  ///
  /// - Returns: The number that the access returns, or nil if it does not return a number.
  func use() async -> Int? {
    // Breaks memory safety on purpose: the objects are deallocated, but the quarantine keeps their memory mapped.
    if self == .genericClass {
      let box = unsafe dangling { Box(7) }
      drop()
      return unsafe box._withUnsafeGuaranteedRef { readGeneric($0) }
    }
    let dead = unsafe dangling { Session() }
    drop()
    switch self {
    case .virtualCall: return unsafe dead._withUnsafeGuaranteedRef { callVirtually($0) }
    case .devirtualisedCall: return unsafe dead._withUnsafeGuaranteedRef { callDirectly($0) }
    case .fieldRead: return unsafe dead._withUnsafeGuaranteedRef { readField($0) }
    case .fieldWrite: return unsafe dead._withUnsafeGuaranteedRef { writeField($0) }
    case .retain: _ = unsafe dead.retain()
    case .retainRelease: unsafe giveBack(taken(dead))
    case .overRelease: unsafe dead.release()
    case .callback:
      unsafe callBack(with: dead.toOpaque())
      return unsafe answer
    case .asyncMethod: return await callAsync(unsafe dead.takeUnretainedValue())
    case .closureCapture: return unsafe closures[0]()
    case .protocolWitness: return unsafe dead._withUnsafeGuaranteedRef { callWitness($0) }
    case .genericClass: break
    }
    return nil
  }
}
