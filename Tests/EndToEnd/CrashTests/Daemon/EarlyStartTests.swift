import CrashMaker
import CrashReport
import Glibc
import Testing

/// Tests that start the shield in a constructor (`CRASHSHIELD_EARLY=1`), in programs with a dynamic and with a static
/// Swift library.
@Suite(.sharedDaemon, .serialized)
struct EarlyStartTests {
  @Test("Swift's own backtracer prints a backtrace also after an early start", arguments: ["0", "1"])
  func backtracer(early: String) async throws {
    let daemon = try SharedDaemon.current
    let environment = daemon.place.environment.merging([
      "CRASHSHIELD_EARLY": early,
      "SWIFT_BACKTRACE":
        "enable=yes,color=no,interactive=no,threads=crashed,limit=8,swift-backtrace=\(try backtracerPath())",
    ]) { $1 }
    let crash = try await Crasher.run("null-write", ["--wait-attached"], environment: environment)
    #expect(crash.status.signal == SIGSEGV)
    #expect(crash.error.contains("Program crashed"), "\(crash.error)")
    #expect(crash.error.contains("cs_fault_null_write"), "\(crash.error)")
    let reports = try await daemon.reports(of: crash.pid)
    #expect(reports.count == 1)
    #expect(reports.first?.crashedThread?.topOwnFrame?.function == "cs_fault_null_write")
  }

  @Test("after an early start, the program's own start adds annotations and causes no second registration or report")
  func completed() async throws {
    let daemon = try SharedDaemon.current
    let environment = daemon.place.environment.merging(["CRASHSHIELD_EARLY": "1"]) { $1 }
    let crash = try await Crasher.run("null-write", ["--wait-attached"], environment: environment)
    #expect(crash.status.signal == SIGSEGV)
    let reports = try await daemon.reports(of: crash.pid)
    #expect(reports.map { $0.annotations["scenario"] } == ["null-write"])
  }

  /// Returns the path of the toolchain's swift-backtrace.
  ///
  /// A program with a static Swift library cannot find swift-backtrace without this path.
  private func backtracerPath() throws -> String {
    for directory in Environment.value(of: "PATH")?.split(separator: ":") ?? [] {
      var target = [CChar](repeating: 0, count: Int(PATH_MAX))
      // Invariant: realpath writes at most PATH_MAX bytes.
      guard unsafe realpath("\(directory)/swift", &target) != nil else { continue }
      let swift = String(decoding: target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let path = swift.split(separator: "/").dropLast(2).map { "/" + $0 }.joined()
      let backtracer = path + "/libexec/swift/linux/swift-backtrace"
      // Invariant: Swift keeps the C string valid during the call, and access() does not keep the pointer.
      if unsafe access(backtracer, X_OK) == 0 { return backtracer }
    }
    throw SystemError("no swift-backtrace beside the 'swift' of PATH", ENOENT)
  }
}
