import Glibc
import TestKit
import Testing

/// Finds the programs under test.
enum Binaries {
  /// Returns the path of a program in the directory `CRASHSHIELD_BINARIES`, or in the directory of the test bundle if
  /// the variable is unset.
  static func path(_ name: String) throws -> String {
    let path = try directory() + "/" + name
    guard unsafe access(path, X_OK) == 0 else { throw SystemError("no program at '\(path)'", errno) }
    return path
  }

  /// Whether `CRASHSHIELD_BINARIES` selects the programs to test, which are then optimized.
  ///
  /// Otherwise they are the debug builds in the directory of the test bundle.
  static var areInstalled: Bool { Environment.value(of: "CRASHSHIELD_BINARIES") != nil }

  /// Enables a test of the optimized crash-maker in `make test-release` only, so that `make test` stays short.
  static let ofRelease: ConditionTrait = .enabled(if: areInstalled, "make test-release runs the optimized crash-maker")

  /// The builds of crash-maker that a test runs: one in `make test`, and two in `make test-release`.
  static let builds = areInstalled ? ["installed", "optimized"] : ["debug"]

  /// Returns the path of the crash-maker that `make dynamic-crash-maker` builds: optimized, with the dynamic Swift
  /// library.
  static func optimizedCrashMaker() throws -> String {
    guard let directory = Environment.value(of: "CRASH_MAKER_RELEASE") else {
      throw SystemError("CRASH_MAKER_RELEASE is not set: run these tests with 'make test-release'", 0)
    }
    return directory + "/crash-maker"
  }

  /// Returns the path of a program in the directory of the test bundle, even if `CRASHSHIELD_BINARIES` is set.
  static func besideTests(_ name: String) throws -> String { try testDirectory() + "/" + name }

  /// Builds libcrashshield.so once per test run, and returns its path.
  ///
  /// The library is in a directory of its own, because `crashctl run` would preload it if it were beside crashctl.
  static func preloadLibrary() async throws -> String { try await preload.value }

  private static let preload: Task<String, any Error> = Task {
    let path = try besideTests("preload/libcrashshield.so")
    // Replaces the file in one step, because processes of another test run could be using it.
    let new = "\(path).\(getpid())"
    try await ChildProcess.run(SourceMark.package + "/scripts/build/preload", [new], in: TestDirectory())
    guard unsafe rename(new, path) == 0 else { throw SystemError("rename '\(new)'", errno) }
    return path
  }

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
