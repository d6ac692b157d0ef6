import CrashShield

/// A way to use an object after its last release.
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

  /// Uses a dead object this way.
  ///
  /// - Returns: The number that came of it; nil where none does.
  func use() async -> Int? {
    if self == .genericClass {
      return unsafe dangling { Box(7) }._withUnsafeGuaranteedRef { main.genericClass($0) }
    }
    // Memory safety is what this program does without; the quarantine holds the object.
    let dead = unsafe dangling { Session() }
    switch self {
    case .virtualCall: return unsafe dead._withUnsafeGuaranteedRef { main.virtualCall($0) }
    case .devirtualisedCall: return unsafe dead._withUnsafeGuaranteedRef { main.devirtualisedCall($0) }
    case .fieldRead: return unsafe dead._withUnsafeGuaranteedRef { main.fieldRead($0) }
    case .fieldWrite: return unsafe dead._withUnsafeGuaranteedRef { main.fieldWrite($0) }
    case .retain: _ = unsafe dead.retain()
    case .retainRelease: unsafe dead.retain().release()
    case .overRelease: unsafe dead.release()
    case .callback:
      unsafe callBack(with: dead.toOpaque())
      return unsafe answer
    case .asyncMethod: return await main.asyncMethod(unsafe dead.takeUnretainedValue())
    case .closureCapture: return unsafe kept()
    case .protocolWitness: return unsafe dead._withUnsafeGuaranteedRef { main.protocolWitness($0) }
    case .genericClass: break
    }
    return nil
  }
}
