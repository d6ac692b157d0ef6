import CrashMaker
import FoundationEssentials
import Glibc
import TestKit
import Testing

/// The result of a run of containment-host, a test program with requests of which some trap.
///
/// containment-host prints it as one line of JSON.
struct HostRun: Decodable {
  var pid: Int
  /// How the program ended: `exit N`, `signal N` or `hung`.
  var end: String
  /// The number of requests that began, without those that trap on purpose.
  var begun: Int
  var finishedIndependent: Int
  var endedIndependent: Int
  var finishedDependent: Int
  var trappedDependent: Int
  var endedDependent: Int
  /// The number of requests that should have trapped, but returned.
  var badReturned: Int
  var badTrapped: Int
  var badEnded: Int
  /// The number of tasks that ran after the traps: one for each processor, to test whether the pool has all its
  /// threads.
  var capacity: Int
  /// The number of these tasks that did not run at the same time as all others.
  var serial: Int
  /// The number of calls of `onDrain`.
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

  /// The signal that a trap instruction raises on the architecture of containment-host.
  static let trapSignal = MatrixBuild.architecture == .x86_64 ? SIGILL : SIGTRAP

  /// Starts containment-host, and waits until it ends.
  ///
  /// `CONTAINMENT_HOST` is the path of a containment-host for another architecture.
  ///
  /// containment-host has a supervisor, which kills a program that hangs long before the test fails.
  static func start(
    _ way: String, _ mode: String, _ options: [String] = [], environment: [String: String] = [:]
  ) async throws -> HostRun {
    let directory = try TestDirectory()
    let outputPath = directory.path + "/output"
    let output = try FileDescriptor(
      unsafe open(outputPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open '\(outputPath)'")
    // The program runs without crashd, unless `environment` names a crashd.
    let places = [
      "CRASHSHIELD_SOCKET": directory.path + "/attach", "CRASHSHIELD_SWEEP_MS": "800",
      "CRASHSHIELD_DEADLINE_MS": "60000",
    ]
    let child = try ChildProcess.start(
      Environment.value(of: "CONTAINMENT_HOST") ?? Binaries.besideTests("containment-host"), [way, mode] + options,
      ChildProcess.Options(environment: places.merging(environment) { $1 }, output: output.number))
    let status = try await child.wait()
    // The program and its supervisor print to the same file. The supervisor's line is the last one, because the
    // supervisor prints it after the program has ended.
    let line = try contents(of: outputPath).split(separator: "\n").last { $0.hasPrefix("{") }
    let text = try #require(line, "\(way) \(mode): the supervisor ended with \(status)")
    return try JSONDecoder().decode(HostRun.self, from: Data(text.utf8))
  }
}
