import Glibc
import Testing

/// A crash-maker process that is attached to a daemon and crashes when it receives a line of input.
struct Victim {
  var process: ChildProcess
  /// The process's standard input.
  var input: FileDescriptor

  /// Starts crash-maker, and waits until it is attached to the daemon.
  /// - Parameters:
  ///   - scenario: The scenario that the process runs when it receives a line of input.
  ///   - daemon: The daemon that the process attaches to.
  ///   - options: Further options of crash-maker.
  ///   - through: A command that executes crash-maker.
  /// - Returns: The attached process.
  /// - Throws: An error if the process could not be started or did not attach.
  static func start(
    _ scenario: String, in daemon: PrivateDaemon, options: [String] = [], through: [String] = []
  ) async throws -> Victim {
    let (ours, theirs) = try FileDescriptor.pair()
    let words = try through + [Binaries.path("crash-maker"), scenario, "--wait-attached", "--wait-input"] + options
    let process = try ChildProcess.start(
      words[0], Array(words.dropFirst()),
      ChildProcess.Options(environment: daemon.place.environment, input: theirs.number, output: theirs.number))
    let line = try await blocking { try ours.readLine() }
    try #require(line == "attached")
    return Victim(process: process, input: ours)
  }

  func goOn() { #expect(unsafe write(input.number, "\n", 1) == 1) }
}
