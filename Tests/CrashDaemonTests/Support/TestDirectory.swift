import FoundationEssentials

/// A directory with a short path (sockets need one), removed at the end.
final class TestDirectory: Sendable {
  let path: String

  init() throws {
    path = "/tmp/cs-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    // A deinit has nobody to tell.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }

  func write(_ bytes: [UInt8], to name: String, mode: UInt16 = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}
