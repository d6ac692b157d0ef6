import Dispatch
public import Foundation

/// Runs the programs that are built together with the tests.
public enum TestProgram: Sendable {
  /// The directory of this test program.
  ///
  /// The directory also contains the products under test.
  public static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// A copy of this process's environment, with Swift's own backtracer disabled.
  ///
  /// The backtracer needs system calls that a confined process is not allowed to make.
  public static var environment: [String: String] {
    ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
  }

  /// Returns the URL of a built product.
  public static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  /// The exit status and the output of a program.
  public struct Answer: Sendable {
    /// The exit status, or the negative number of the signal that ended the program.
    public var status: Int32
    /// The standard output.
    public var output: Data
    /// The standard error.
    public var error: String

    /// The standard output as a string.
    public var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Runs a program until it ends.
  ///
  /// Standard output and standard error are files, because a full pipe would block the program.
  ///
  /// Pass false for `leavesCore` if the program crashes on purpose. Without an input, the program reads /dev/null.
  /// - Throws: The errors of Foundation's `Process` and file functions.
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

  /// Runs a closure on a separate thread, because the closure can block.
  /// - Throws: The errors of the closure.
  public static func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "program").async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
