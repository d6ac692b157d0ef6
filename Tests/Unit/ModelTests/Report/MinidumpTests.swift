import CrashReport
import Foundation
import Testing

@Suite("Minidump")
struct MinidumpTests {
  /// The contents of a minidump as the Python reader prints them.
  private struct Reading: Codable {
    var system: String
    var architecture: String
    var pid: Int
    var modules: [Module]
    var threads: [Int]
    var rips: [UInt64]
    var rsps: [UInt64]
    var arm64: [Context]
    var stacks: [[UInt64]]
    var memory: [[UInt64]]
    var exception: [UInt64]

    struct Context: Codable {
      var size: Int
      var flags: UInt64
      var registers: [UInt64]
      var cpsr: UInt64
    }

    struct Module: Codable, Equatable {
      var path: String
      var base: UInt64
      var size: UInt64

      init(path: String, base: UInt64, size: UInt64) {
        self.path = path
        self.base = base
        self.size = size
      }

      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        path = try container.decode(String.self)
        base = try container.decode(UInt64.self)
        size = try container.decode(UInt64.self)
      }
    }
  }

  // `make test` installs the Python reader, and sets this variable. With `swift test` alone, the variable is unset, and
  // the test is skipped. In CI, the test fails if it is unset.
  private static let python = ProcessInfo.processInfo.environment["TEST_PYTHON"]

  @Test(
    "PyPI's minidump reads threads, registers, stacks, images and the exception",
    .enabled(
      if: python != nil || ProcessInfo.processInfo.environment["CI"] != nil,
      "TEST_PYTHON names no Python with the minidump package"))
  func publicReader() throws {
    let report = Sample.everything
    let first = try #require(report.threads.first)
    let start = try #require(first.registers["rsp"])
    let stack = MinidumpRenderer.Memory(start: start, bytes: Array(0..<200))
    let reading = try read(MinidumpRenderer().render(report, stacks: [first.tid: stack]))
    #expect(reading.system == "VER_PLATFORM_CRASHPAD_LINUX")
    #expect(reading.architecture == "AMD64")
    #expect(reading.pid == report.process.pid)
    #expect(
      reading.modules
        == report.images.map { image in
          Reading.Module(path: image.path, base: image.base.rawValue, size: image.end.rawValue - image.base.rawValue)
        })
    #expect(reading.threads == [first.tid])
    #expect(reading.rips == [first.registers["rip"]?.rawValue])
    #expect(reading.rsps == [start.rawValue])
    #expect(reading.stacks == [[start.rawValue, 200]])
    #expect(reading.memory == [[start.rawValue, 200]])
    #expect(
      reading.exception == [
        UInt64(first.tid), UInt64(report.signal.number), report.signal.address?.rawValue ?? 0,
      ])
  }

  @Test(
    "PyPI's minidump reads a dump of AArch64, whose context is Breakpad's",
    .enabled(
      if: python != nil || ProcessInfo.processInfo.environment["CI"] != nil,
      "TEST_PYTHON names no Python with the minidump package"))
  func arm64() throws {
    let report = ArchitectureTests.report
    let first = try #require(report.threads.first)
    let start = try #require(first.registers["sp"])
    let stack = MinidumpRenderer.Memory(start: start, bytes: Array(0..<200))
    let reading = try read(MinidumpRenderer().render(report, stacks: [first.tid: stack]))
    #expect(reading.architecture == "AARCH64" && reading.rips.isEmpty)
    let context = try #require(reading.arm64.first)
    // 796 is the size of Breakpad's structure, and 0x80000002 is MD_CONTEXT_ARM64_INTEGER_OLD.
    #expect(context.size == 796 && context.flags == 0x8000_0002 && context.cpsr == 0x6000_1000)
    #expect(context.registers == (0...30).map { 0x1000 + $0 } + [start.rawValue, 0x5581_2345_6789])
    #expect(reading.stacks == [[start.rawValue, 200]] && reading.exception.last == 0x5581_2345_6789)
  }

  @Test("hostile sizes and names in a report cause no trap when the minidump is written")
  func hostile() {
    var report = Sample.everything
    report.process.pid = .max
    report.signal.number = .min
    report.signal.code = .max
    report.threads[0].tid = .min
    report.images.append(CrashReport.Image(path: "\u{1F980}", buildID: "zz1", base: 5, end: 4))
    report.images.append(CrashReport.Image(path: "", buildID: "0", base: 0, end: Address(.max)))
    #expect(MinidumpRenderer().render(report).starts(with: Array("MDMP".utf8)))
    report.threads = []
    report.images = []
    #expect(MinidumpRenderer().render(report).starts(with: Array("MDMP".utf8)))
  }

  private func read(_ bytes: [UInt8]) throws -> Reading {
    let python = try #require(Self.python, "TEST_PYTHON must name a Python with the minidump package: see Makefile")
    let file = FileManager.default.temporaryDirectory.appending(path: "cs-\(UUID().uuidString).dmp")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let process = Process()
    process.executableURL = URL(filePath: python)
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "read_minidump.py")
    process.arguments = [script.path, file.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try JSONDecoder().decode(Reading.self, from: text)
  }
}
