import Glibc
import TestKit
import Testing

/// Tests crashd's settings file: how crashd checks it, reloads it, and applies it.
@Suite
struct SettingsReloadTests {
  private func write(_ text: String, to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError("open '\(path)'", errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    // Invariant: write() reads at most as many bytes as the array has.
    guard unsafe Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw SystemError("write '\(path)'", errno)
    }
  }

  /// Waits until crashd's log contains this text.
  private func await(_ text: String, in daemon: PrivateDaemon) async throws {
    try await blocking {
      try Patience.wait(for: "crashd did not log '\(text)'") { _ -> Void? in
        // Nothing announces a change of the log file, so this reads it a hundred times in each slice of the time limit.
        for _ in 0..<100 {
          if try contents(of: daemon.place.logPath).contains(text) { return () }
          usleep(10_000)
        }
        return nil
      }
    }
  }

  @Test("SIGHUP reloads the settings file, and a file with an error changes nothing")
  func reload() async throws {
    let place = try PrivateDaemon.Place()
    let path = place.root.path + "/crashd.yaml"
    try write("retention:\n  age: 1d\n", to: path)
    let daemon = try await PrivateDaemon.start(in: place, options: ["--config", path])
    do {
      try write("retention:\n  age: 2d\nlimits:\n  processes: 7\n", to: path)
      daemon.process.signal(SIGHUP)
      try await self.await("settings reloaded; changed: retention.age", in: daemon)
      try await self.await("these settings need a restart of crashd: limits.processes", in: daemon)
      try write("retention:\n  agee: 3d\n", to: path)
      daemon.process.signal(SIGHUP)
      try await self.await("cannot reload the settings: \(path):2: there is no key 'retention.agee'", in: daemon)
    } catch {
      try await daemon.kill()
      throw error
    }
    try await daemon.stop()
  }

  @Test("--check-config prints every setting; for a settings file with an error it prints the error and exits with 2")
  func check() async throws {
    let place = try PrivateDaemon.Place()
    let path = place.root.path + "/crashd.yaml"
    try write("retention:\n  age: 14d\n", to: path)
    let good = try await run(path, place, ["CRASHD_LIMITS_PROCESSES": "9"])
    #expect(good.status == 0)
    #expect(good.output.contains("retention.age: 14d\n") && good.output.contains("limits.processes: 9\n"))
    try write("retention:\n  agee: 14d\n", to: path)
    let bad = try await run(path, place, [:])
    #expect(bad.status == 2 && bad.output == "")
    #expect(bad.error.contains("\(path):2: there is no key 'retention.agee'; did you mean 'retention.age'?"))
  }

  private func run(
    _ path: String, _ place: PrivateDaemon.Place, _ environment: [String: String]
  ) async throws -> (status: Int32?, output: String, error: String) {
    let outputPath = place.root.path + "/out"
    try write("", to: outputPath)
    let output = try FileDescriptor(opening: outputPath, O_WRONLY)
    let process = try ChildProcess.start(
      Binaries.path("crashd"), ["--config", path, "--check-config"],
      ChildProcess.Options(
        environment: environment, directory: place.root.path, output: output.number, errorPath: place.logPath))
    let status = try await process.wait()
    return (status.code, try contents(of: outputPath), try contents(of: place.logPath))
  }
}
