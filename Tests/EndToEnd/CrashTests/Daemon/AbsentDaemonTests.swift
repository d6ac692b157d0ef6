import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests of crashes in restricted processes while crashd is not running.
///
/// Each process writes its ring (its crash record) to the spool directory. If the directory has no space for the ring,
/// the process leaves an empty file, and crashd counts the loss when it starts.
@Suite(.enabled("only root can restrict a process in these ways") { geteuid() == 0 })
struct AbsentDaemonTests {
  @Test(
    "a crash without crashd is spooled, and reported when crashd starts",
    arguments: [
      "full-disk", "read-only-root", "mount-namespace", "no-memory", "no-proc", "chroot", "other-uid",
    ])
  func spooled(name: String) async throws {
    let place = try PrivateDaemon.Place()
    let spool = try Self.makeSpool(place)
    let scenario = try #require(Scenario.named(name))
    let crash = try await Crasher.run(name, environment: place.environment)
    #expect(crash.status.signal == (try Crasher.signalNumber(scenario.signal)))
    #expect(try entries(of: spool).map { $0.hasSuffix(".ring") } == [true])
    let daemon = try await PrivateDaemon.start(in: place)
    let report = try await daemon.firstReport(of: crash.pid)
    #expect(report.signal.name == scenario.signal)
    #expect(report.crashedThread?.topOwnFrame?.function.contains(scenario.function) == true)
    try await daemon.stop()
    #expect(try entries(of: spool).isEmpty)
  }

  @Test("F6: a spooled report of a process that has changed its user is root's, and has no memory")
  func restricted() async throws {
    let place = try PrivateDaemon.Place()
    _ = try Self.makeSpool(place)
    let crash = try await Crasher.run("other-uid", environment: place.environment)
    let daemon = try await PrivateDaemon.start(in: place)
    let report = try await daemon.firstReport(of: crash.pid)
    #expect(report.process.isRestricted == true)
    #expect(report.diagnosis.rule == "bare-record")
    #expect(report.crashedThread?.registers.isEmpty == true && report.annotations.isEmpty)
    try await daemon.stop()
  }

  @Test(
    "a process ends by its own signal when the kernel refuses every call that could save the ring",
    arguments: ["seccomp-strict-profile", "no-descriptors"])
  func refused(name: String) async throws {
    let place = try PrivateDaemon.Place()
    let spool = try Self.makeSpool(place)
    let crash = try await Crasher.run(name, environment: place.environment)
    #expect(crash.status.signal == SIGSEGV)
    #expect(try entries(of: spool).isEmpty)
  }

  @Test(
    "a crash leaves an empty file in a full spool, which crashd counts as a loss, and no file in a read-only spool",
    arguments: ["full", "read-only"])
  func noRoom(kind: String) async throws {
    let place = try PrivateDaemon.Place()
    let spool = try Self.makeSpool(place)
    let small = try place.root.directory("small")
    // Mounts a small file system in a new mount namespace. The kernel removes the mount when the shell ends.
    let script = #"""
      mount -t tmpfs -o size=64k,nr_inodes=16 small "$1" || exit 1
      if [ "$4" = full ]; then cat /dev/zero >"$1/filler" 2>/dev/null; else mount -o remount,ro "$1" || exit 2; fi
      CRASHSHIELD_SPOOL=$1 "$3" null-write
      code=$?
      for file in "$1"/*.ring "$1"/*.partial; do if [ -e "$file" ]; then mv "$file" "$2/" || exit 3; fi; done
      exit $code
      """#
    let shell = try ChildProcess.start(
      "/usr/bin/unshare",
      ["--mount", "--", "/bin/sh", "-c", script, "sh", small, spool, Binaries.path("crash-maker"), kind],
      ChildProcess.Options(environment: place.environment))
    #expect(try await shell.wait().code == 128 + SIGSEGV)
    let left = try entries(of: spool)
    #expect(left.map { $0.hasSuffix(".ring") } == (kind == "full" ? [true] : []))
    for name in left { #expect(try contents(of: "\(spool)/\(name)").isEmpty) }
    let daemon = try await PrivateDaemon.start(in: place)
    // crashd reads and removes every spool file before it stops.
    try await daemon.stop()
    #expect(try entries(of: spool).isEmpty)
    #expect(try contents(of: place.logPath).contains("spool 1") == (kind == "full"))
  }

  /// Creates the spool directory with the permissions that crashd sets.
  private static func makeSpool(_ place: PrivateDaemon.Place) throws -> String {
    let path = place.runtime + "/spool"
    guard unsafe mkdir(path, 0o700) == 0, unsafe chmod(path, 0o3733) == 0 else {
      throw SystemError("mkdir '\(path)'", errno)
    }
    return path
  }
}
