import Glibc
import TestKit
import Testing

/// Debian's debuginfod.
///
/// It serves one directory of a test, on a port that was free just before debuginfod started.
final class Debuginfod: Sendable {
  let url: String
  private let process: ChildProcess
  private let logPath: String
  private let place: TestDirectory

  init(over directory: String, in place: TestDirectory) throws {
    self.place = place
    let port = try Self.freePort()
    url = "http://127.0.0.1:\(port)"
    logPath = place.path + "/debuginfod.log"
    process = try ChildProcess.start(
      "/usr/bin/debuginfod", ["-F", "-p", "\(port)", "-d", ":memory:", directory],
      ChildProcess.Options(environment: ["HOME": place.path], directory: place.path, errorPath: logPath))
  }

  /// Waits until debuginfod serves the debug information of a build.
  ///
  /// debuginfod starts to listen before it has indexed its files.
  func awaitBuild(_ buildID: String) async throws {
    // The output must be a file, because crash-fetch truncates it first.
    let path = place.path + "/fetched"
    let output = try FileDescriptor(
      unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600), from: "open '\(path)'")
    while true {
      let fetch = try ChildProcess.start(
        Binaries.path("crash-fetch"),
        ["--build-id", buildID, "--limit-bytes", "\(1 << 30)", "--timeout-ms", "\(Patience.slices * 1_000)", url],
        ChildProcess.Options(output: output.number, errorPath: logPath))
      let status = try await fetch.wait()
      if status.code == 0 { return }
      // Status 66: debuginfod does not have the build yet. Status 69: debuginfod does not listen yet.
      guard [66, 69].contains(status.code), !process.hasEnded else {
        throw SystemError("crash-fetch ended with \(status): \(try contents(of: logPath))", 0)
      }
    }
  }

  func stop() async throws {
    process.signal(SIGKILL)
    try await process.wait()
  }

  private static func freePort() throws -> UInt16 {
    let descriptor = try FileDescriptor(
      socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0), from: "socket")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Invariant: both calls access only `length` bytes of one sockaddr_in.
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor.number, $0, length) == 0 ? unsafe getsockname(descriptor.number, $0, &length) : -1
      }
    }
    guard code == 0 else { throw SystemError("bind", errno) }
    return UInt16(bigEndian: address.sin_port)
  }
}
