import FoundationEssentials

/// The programs that belong to crashctl.
enum Programs {
  /// The program beside crashctl's own executable, where there is one; else its name, for PATH.
  static func find(_ name: String) -> String {
    guard let beside = directory.map({ $0 + "/" + name }) else { return name }
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : name
  }

  /// The shield for programs that were not built with it: `CRASHSHIELD_LIBRARY`, else beside crashctl or in `../lib`;
  /// nil where there is none, or the variable is empty.
  static func preloadedLibrary(_ environment: [String: String]) -> String? {
    let name = "libcrashshield.so"
    let known = environment["CRASHSHIELD_LIBRARY"].map { [$0] }
    let places = known ?? directory.map { ["\($0)/\(name)", "\($0)/../lib/\(name)"] } ?? []
    return places.first { !$0.isEmpty && FileManager.default.isReadableFile(atPath: $0) }
  }

  /// Where crashctl's own executable lies.
  private static var directory: String? {
    do {
      let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return own.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    } catch {
      return nil
    }
  }
}
