internal import CShim
internal import CShimRing

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension Guards {
  /// The invalid parts of `CRASHSHIELD_GUARDS`; the first read of this property applies the valid parts.
  ///
  /// Examples of the variable are `observe` and `absorb,cast=off,index=observe`. A part is a mode for all kinds, or a
  /// kind with its mode. If two parts set the same kind, the later part applies.
  static let environment = apply(variable("CRASHSHIELD_GUARDS"), by: cs_guard_set_mode)

  /// The invalid parts of `CRASHSHIELD_IMPLICIT`, which sets the modes of the implicit protections.
  static let implicitEnvironment = apply(variable("CRASHSHIELD_IMPLICIT"), by: cs_guard_set_implicit_mode)

  private static func variable(_ name: String) -> String {
    // Invariant: getenv's string stays valid as long as no thread changes the environment.
    unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
  }

  /// Applies the modes in the value of a variable, and returns the invalid parts.
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
