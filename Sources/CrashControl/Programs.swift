import FoundationEssentials

/// The programs that belong to crashctl.
enum Programs {
  /// The program beside crashctl's own executable, where there is one; else its name, for PATH.
  static func find(_ name: String) -> String {
    let own: String
    do {
      own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    } catch {
      return name
    }
    let beside = own.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/" + name
    return FileManager.default.isExecutableFile(atPath: beside) ? beside : name
  }
}
