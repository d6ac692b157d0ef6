import Glibc
import Testing

/// The programs under test.
enum Binaries {
  /// Where they are: `CRASHSHIELD_BINARIES`, else beside the test bundle.
  static func path(_ name: String) throws -> String {
    let path = try directory() + "/" + name
    guard unsafe access(path, X_OK) == 0 else { throw SystemError("no program at '\(path)'", errno) }
    return path
  }

  /// Whether `CRASHSHIELD_BINARIES` names the programs as they are installed, which are optimized; those beside a test
  /// bundle are not.
  static var areInstalled: Bool { Environment.value(of: "CRASHSHIELD_BINARIES") != nil }

  /// A crash-maker built with optimization and the dynamic Swift library, where the Makefile made one.
  ///
  /// Absent on a developer's plain `swift test`; in CI that is an error.
  static func optimizedCrashMaker() throws -> String? {
    if let directory = Environment.value(of: "CRASH_MAKER_RELEASE") { return directory + "/crash-maker" }
    if Environment.value(of: "CI") == "true" {
      Issue.record("CRASH_MAKER_RELEASE is not set: run the tests by 'make test', which builds that crash-maker")
    }
    return nil
  }

  /// One that was built with the tests, whatever is installed.
  static func besideTests(_ name: String) throws -> String { try testDirectory() + "/" + name }

  private static func directory() throws -> String {
    try Environment.value(of: "CRASHSHIELD_BINARIES") ?? testDirectory()
  }

  private static func testDirectory() throws -> String {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0 else { throw SystemError("readlink '/proc/self/exe'", errno) }
    let executable = String(decoding: bytes.prefix(count), as: UTF8.self)
    return String(executable[..<(executable.lastIndex(of: "/") ?? executable.endIndex)])
  }
}
