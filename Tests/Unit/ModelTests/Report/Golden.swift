import FoundationEssentials
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Compares output with expected texts (files in the directory Golden).
///
/// CRASHSHIELD_UPDATE_GOLDEN=1 rewrites these files. Review the diff afterwards.
enum Golden {
  /// Records a failure with the first lines that differ from the expected text.
  static func expect(
    _ text: String, isIn name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
    let file = directory.appending(path: name)
    if ProcessInfo.processInfo.environment["CRASHSHIELD_UPDATE_GOLDEN"] == "1" {
      try Data(text.utf8).write(to: file)
    }
    let expected = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    if text == expected { return }
    let found = text.split(separator: "\n", omittingEmptySubsequences: false)
    let wanted = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let changes = found.difference(from: wanted).map { change in
      switch change {
      case .remove(let line, let text, _): "-\(line + 1): \(text)"
      case .insert(let line, let text, _): "+\(line + 1): \(text)"
      }
    }
    Issue.record(
      "differs from Golden/\(name):\n\(changes.joined(separator: "\n"))", sourceLocation: sourceLocation)
  }
}
