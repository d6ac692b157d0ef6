import CrashMaker
import FoundationEssentials
import Glibc
import TestKit
import Testing

/// The result of a run of containment-host, which prints the result as one line of JSON.
struct HostRun: Decodable {
  var pid: Int
  /// `exit N`, `signal N` or `hung`.
  var end: String
  /// How many requests began, not counting those that should trap.
  var begun: Int
  var finishedIndependent: Int
  var endedIndependent: Int
  var finishedDependent: Int
  var trappedDependent: Int
  var endedDependent: Int
  /// How many requests should have trapped, but returned.
  var badReturned: Int
  var badTrapped: Int
  var badEnded: Int
  /// How many tasks ran after the traps, and how many of them did not run at the same time.
  var capacity: Int
  var serial: Int
  /// How often `onDrain` was called.
  var drains: Int
  var cutOff: Int
  var childEnd: Int
  var residentBefore: Int
  var residentAfter: Int
  var filesBefore: Int
  var filesAfter: Int
  var contained: Int?
  var incidents: Int?
  var obstacle: Int?
  var crashes: Int?
  var drainEnd: String?
  var drainFinished: Int?
  var drainLost: Int?
  var drain_ns: Int?
  var verdict: String?
  var reason: String?
  var signal: Int?
  var frames: Int?
  var message: Int?
  var request: String?

  /// The signal of a trap instruction on the architecture of containment-host.
  static let trapSignal = MatrixBuild.architecture == .x86_64 ? SIGILL : SIGTRAP

  /// Starts containment-host, and waits for its end.
  ///
  /// `CONTAINMENT_HOST` names that of another architecture.
  ///
  /// The host's supervisor kills a program that hangs, long before the test would give up.
  static func start(
    _ way: String, _ mode: String, _ options: [String] = [], environment: [String: String] = [:]
  ) async throws -> HostRun {
    let directory = try TestDirectory()
    let outputPath = directory.path + "/output"
    let output = try FileDescriptor(
      unsafe open(outputPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open '\(outputPath)'")
    // If the caller passes no daemon's environment, the program runs without a daemon.
    let places = [
      "CRASHSHIELD_SOCKET": directory.path + "/attach", "CRASHSHIELD_SWEEP_MS": "800",
      "CRASHSHIELD_DEADLINE_MS": "60000",
    ]
    let child = try ChildProcess.start(
      Environment.value(of: "CONTAINMENT_HOST") ?? Binaries.besideTests("containment-host"), [way, mode] + options,
      ChildProcess.Options(environment: places.merging(environment) { $1 }, output: output.number))
    let status = try await child.wait()
    // The program itself may print to the same file. The supervisor's line is the last one, because the supervisor
    // prints it after the program has ended.
    let line = try contents(of: outputPath).split(separator: "\n").last { $0.hasPrefix("{") }
    let text = try #require(line, "\(way) \(mode): the supervisor ended with \(status)")
    return try JSONDecoder().decode(HostRun.self, from: Data(text.utf8))
  }
}
