internal import CShimGuards
internal import CShimRing
internal import Glibc

extension Guards {
  /// What `CRASHSHIELD_GUARDS` says is in force once this has been asked for; the parts that it could not read.
  ///
  /// Such as `observe`, or `absorb,cast=off,index=observe`: a mode for all kinds, or kinds with their modes; of two for one kind
  /// the later holds.
  static let environment = apply(variable("CRASHSHIELD_GUARDS"), by: cs_guard_set_mode)

  /// The same of `CRASHSHIELD_IMPLICIT`, for protections that nobody asked for at the place.
  static let implicitEnvironment = apply(variable("CRASHSHIELD_IMPLICIT"), by: cs_guard_set_implicit_mode)

  private static func variable(_ name: String) -> String {
    // getenv's string stays as long as nobody changes the environment.
    unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
  }

  /// Puts modes into force; the parts that are none.
  private static func apply(_ text: String, by setMode: (UInt32, cs_mode) -> Void) -> [String] {
    text.split(separator: ",").map { part in part.filter { !$0.isWhitespace } }.filter { part in
      let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard sides.count <= 2, let mode = ShieldMode.allCases.first(where: { "\($0)" == sides.last }) else {
        return true
      }
      let kinds = ShieldKind.allCases.filter { sides.count == 1 || $0.name == sides[0] }
      for kind in kinds { setMode(UInt32(kind.rawValue), mode.code) }
      return kinds.isEmpty
    }
  }
}
