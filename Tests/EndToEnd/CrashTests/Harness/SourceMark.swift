import Glibc

/// The source line of this package that ends with the comment `// fault: NAME`.
struct SourceMark: Equatable, CustomStringConvertible {
  /// The file name of the source file, without its directory.
  var file: String
  var line: Int

  var description: String { "\(file):\(line)" }

  /// Finds the mark in directories below `Sources/Examples`.
  ///
  /// Throws if no line has the mark.
  static func find(
    _ name: String, in directories: [String] = ["CrashMaker", "CCrashMaker", "CCrashMaker/Waits"]
  ) throws -> SourceMark {
    for directory in directories {
      let path = package + "/Sources/Examples/" + directory
      for file in try entries(of: path) where [".swift", ".c", ".cpp"].contains(where: file.hasSuffix) {
        let lines = try contents(of: path + "/" + file).split(separator: "\n", omittingEmptySubsequences: false)
        if let index = lines.firstIndex(where: { $0.hasSuffix("// fault: \(name)") }) {
          return SourceMark(file: file, line: index + 1)
        }
      }
    }
    throw SystemError("no line is marked '// fault: \(name)'", ENOENT)
  }

  /// The directory of this package, derived from this file's path: Tests/EndToEnd/CrashTests/Harness/SourceMark.swift.
  static let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(5)
    .joined(separator: "/")
}
