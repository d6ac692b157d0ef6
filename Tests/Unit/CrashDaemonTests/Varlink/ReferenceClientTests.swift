import CLinux
import CrashProtocol
import CrashStore
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The reference implementation of Varlink")
struct ReferenceClientTests {
  // `make test` installs the Python package varlink, and sets this variable. With `swift test` alone, the variable is
  // unset, and the test is skipped. In CI, the test fails if it is unset.
  private static let python = variable("TEST_PYTHON")

  @Test(
    "PyPI's varlink reads the interface, calls List and streams Subscribe",
    .enabled(if: python != nil || variable("CI") != nil, "TEST_PYTHON names no Python with the varlink package"))
  func referenceClient() async throws {
    let python = try #require(Self.python, "TEST_PYTHON must name a Python with the varlink package: see Makefile")
    try await TestDaemon.run { daemon in
      let ids = ["aa", "bb", "cc"]
      for id in ids { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let script = "\(#filePath.dropLast("ReferenceClientTests.swift".count))varlink_reference_client.py"
      let output = try await Self.run(
        [python, script, daemon.directories.varlinkSocket, "\(daemon.store.epoch)-0", "3"])
      let result = try #require(JSONValue.members(of: Array(output), depth: 64, isStreamSafe: false))
      #expect(result.array("interfaces") == [.string("io.crashshield.Crashd"), .string("org.varlink.service")])
      #expect(result.array("reports") == ["cc", "bb", "aa"].map { .string($0) })
      #expect(result.string("error") == "io.crashshield.Crashd.NoSuchReport")
      #expect(result.array("events") == ids.map { .string($0) })
    }
  }

  /// Runs a program until it exits and returns its output.
  private static func run(_ arguments: [String]) async throws -> Data {
    let directory = try TestDirectory()
    let output = "\(directory.path)/output"
    try await onThread {
      let input = Descriptor(owning: unsafe open("/dev/null", O_RDONLY | O_CLOEXEC))
      let file = Descriptor(owning: unsafe open(output, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
      var pid: Int32 = 0
      // Invariant: the strings stay valid until `defer` frees them, and the list ends with nil.
      var pointers = unsafe arguments.map { unsafe strdup($0) }
      unsafe pointers.append(nil)
      defer { unsafe pointers.forEach { unsafe free($0) } }
      let code = unsafe cd_spawn(arguments[0], &pointers, input.number, file.number, file.number, &pid)
      try SystemError.check(code, "start '\(arguments[0])'")
      var status: Int32 = 0
      // waitpid() writes one status.
      guard unsafe waitpid(pid, &status, 0) == pid else { throw SystemError("wait for '\(arguments[0])'") }
    }
    return try Data(contentsOf: URL(fileURLWithPath: output))
  }
}

private func variable(_ name: String) -> String? {
  // Invariant: getenv() returns a string that stays valid as long as the environment does not change.
  unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
