import Dispatch
public import Foundation

/// Runs programs that are built beside the tests.
public enum TestProgram: Sendable {
  /// Where the products under test lie: the folder of this test program.
  public static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// This process's environment, in which Swift's own backtracer is off: it would try what a confined process may not.
  public static var environment: [String: String] {
    ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
  }

  /// A product by its name.
  public static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  /// How a program ended, and what it wrote.
  public struct Answer: Sendable {
    /// The exit status, or the signal's number below 0.
    public var status: Int32
    /// Its standard output.
    public var output: Data
    /// Its standard error.
    public var error: String

    /// The output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Runs a program to its end, with files for its streams: no pipe can fill up.
  ///
  /// `leavesCore`: false where it crashes on purpose. Without an input it reads the null device.
  /// - Throws: What Foundation throws.
  public static func run(
    _ program: URL, _ arguments: [String] = [], environment: [String: String] = TestProgram.environment,
    input: URL? = nil,
    leavesCore: Bool = true
  ) throws -> Answer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (output, error) = (folder.appendingPathComponent("output"), folder.appendingPathComponent("error"))
    for file in [output, error] { try Data().write(to: file) }
    let process = Process()
    if leavesCore {
      process.executableURL = program
      process.arguments = arguments
    } else {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", #"ulimit -c 0; exec "$0" "$@""#, program.path] + arguments
    }
    process.environment = environment
    process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: error)
    try process.run()
    process.waitUntilExit()
    return Answer(
      status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
      output: try Data(contentsOf: output), error: try String(contentsOf: error, encoding: .utf8))
  }

  /// Runs something on a thread that it may block.
  /// - Throws: What the body throws.
  public static func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "program").async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
