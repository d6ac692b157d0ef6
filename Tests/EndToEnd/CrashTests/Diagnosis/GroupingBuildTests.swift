import CrashReport
import Glibc
import TestKit
import Testing

/// Tests that one crash has the same group key in different builds, and that different crashes have different keys.
@Suite
struct GroupingBuildTests {
  /// The compiler options of one build of the program.
  private struct Build {
    var name: String
    var options: [String]
    /// The number of lines that the test inserts at the top of the source file.
    var newLines = 0
  }

  private static let builds = [
    Build(name: "debug", options: ["-Onone"]), Build(name: "release", options: ["-O"]),
    Build(name: "static", options: ["-O", "-static-stdlib"]),
    Build(name: "lines", options: ["-O"], newLines: 17),
  ]
  private static let crashes = 1...5

  @Test("of 20 reports of five crashes in four builds, at least 18 have their crash's group, which no other crash has")
  func builds() async throws {
    let directory = try TestDirectory()
    let library = try await Binaries.preloadLibrary()
    let keys = try await PrivateDaemon.run { daemon in
      var keys: [Int: [String: String]] = [:]
      for build in Self.builds {
        let program = try await Self.compile(build, in: directory)
        for crash in Self.crashes {
          let environment = daemon.place.environment.merging(["LD_PRELOAD": library]) { $1 }
          let process = try ChildProcess.start(program, ["\(crash)"], ChildProcess.Options(environment: environment))
          let status = try await process.wait()
          try #require(status.signal != 0, "\(build.name) \(crash): \(status)")
          let report = try await daemon.firstReport(of: process.pid)
          keys[crash, default: [:]][build.name] = report.group.key
          print("grouping: \(build.name) \(crash): \(report.group.key) \(report.group.title)")
        }
      }
      return keys
    }
    // The group key of a crash: the key that most builds' reports have.
    var groups: [Int: String] = [:]
    var equal = 0
    for (crash, found) in keys {
      let counts = Dictionary(grouping: found.values) { $0 }.mapValues(\.count)
      let most = try #require(counts.max { ($0.value, $0.key) < ($1.value, $1.key) })
      groups[crash] = most.key
      equal += most.value
    }
    print("grouping: \(equal) of \(Self.builds.count * Self.crashes.count) crashes have their crash's group")
    #expect(equal >= 18, "\(keys)")
    for (crash, found) in keys {
      let others = Set(keys.filter { $0.key != crash }.flatMap(\.value.values))
      #expect(others.isDisjoint(with: found.values), "crash \(crash) shares a group: \(keys)")
    }
  }

  private static func compile(_ build: Build, in directory: TestDirectory) async throws -> String {
    let folder = try directory.directory(build.name)
    let source = folder + "/main.swift"
    let text = String(repeating: "// moved\n", count: build.newLines)
    try write(text + contents(of: SourceMark.package + "/Tests/Kit/Support/grouping/shop.swift"), to: source)
    let program = folder + "/shop"
    try await ChildProcess.run(
      "/usr/bin/env",
      ["swiftc", "-g", "-swift-version", "6", "-module-name", "shop", source, "-o", program] + build.options,
      in: directory)
    return program
  }

  private static func write(_ text: String, to path: String) throws {
    let file = try FileDescriptor(
      unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600), from: "open '\(path)'")
    let bytes = Array(text.utf8)
    guard unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count else { throw SystemError("write", errno) }
  }
}
