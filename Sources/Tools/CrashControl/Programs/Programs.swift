import FoundationEssentials

/// Finds the programs and the library that crashctl uses.
enum Programs {
  /// Returns the path of the program in the directory of crashctl's executable.
  ///
  /// If there is no such file, returns the name, so that the program is searched in PATH.
  static func find(_ name: String) -> String {
    guard let beside = directory.map({ $0 + "/" + name }) else { return name }
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : name
  }

  /// Returns the path of a helper program in the directory of crashctl's executable, or in `../libexec/crashd`.
  ///
  /// Returns nil if it is in neither. Helpers are not searched in PATH, because users do not start them directly.
  static func findHelper(_ name: String) -> String? {
    let places = directory.map { ["\($0)/\(name)", "\($0)/../libexec/crashd/\(name)"] } ?? []
    return places.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Returns the path of the shield library, for programs that do not link it.
  ///
  /// The path is `CRASHSHIELD_LIBRARY` if this variable is set. If the variable is not set, the function returns the
  /// path of the library in crashctl's directory or in `../lib`. Returns nil if the library does not exist, or if the
  /// variable is set but empty.
  static func preloadedLibrary(_ environment: [String: String]) -> String? {
    let name = "libcrashshield.so"
    let known = environment["CRASHSHIELD_LIBRARY"].map { [$0] }
    let places = known ?? directory.map { ["\($0)/\(name)", "\($0)/../lib/\(name)"] } ?? []
    return places.first { !$0.isEmpty && FileManager.default.isReadableFile(atPath: $0) }
  }

  /// The directory of crashctl's own executable.
  private static var directory: String? {
    do {
      let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return own.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    } catch {
      return nil
    }
  }
}
