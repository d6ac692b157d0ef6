internal import CShimGuards
internal import Glibc

extension Guards {
  /// What `CRASHSHIELD_GUARDS` says is in force once this has been asked for; the parts that it could not read.
  ///
  /// Such as `observe`, or `absorb,cast=off,index=observe`: a mode for all kinds, or kinds with their modes; of two for one kind
  /// the later holds.
  static let environment: [String] = {
    // getenv's string stays as long as nobody changes the environment.
    guard let text = unsafe getenv("CRASHSHIELD_GUARDS").map({ unsafe String(cString: $0) }) else { return [] }
    return apply(text)
  }()

  /// Puts modes into force; the parts that are none.
  static func apply(_ text: String) -> [String] {
    text.split(separator: ",").map { part in part.filter { !$0.isWhitespace } }.filter { part in
      let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard sides.count <= 2, let mode = ShieldMode.allCases.first(where: { "\($0)" == sides.last }) else {
        return true
      }
      let kinds = ShieldKind.allCases.filter { sides.count == 1 || $0.name == sides[0] }
      for kind in kinds { cs_guard_set_mode(UInt32(kind.rawValue), mode.code) }
      return kinds.isEmpty
    }
  }
}
