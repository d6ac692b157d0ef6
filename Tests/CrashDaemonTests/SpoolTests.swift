import CShimRing
import FoundationEssentials
import Glibc
import Testing

@testable import CrashDaemon

@Suite("The spool")
struct SpoolTests {
  /// Leaves a ring as the handler does: written whole, then renamed.
  static func leave(_ ring: TestRing, in spool: String, name: String? = nil, mode: UInt16 = 0o600) throws {
    let path = "\(spool)/\(name ?? ring.id).ring"
    try Data(ring.bytes).write(to: URL(fileURLWithPath: path + ".partial"))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + ".partial")
    guard unsafe rename(path + ".partial", path) == 0 else { throw SystemError("rename") }
  }

  @Test("a ring that was left while crashd was away is stored at its start, and removed")
  func atStart() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try Self.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let report = try await client.call("io.crashshield.Crashd.Get", ["id": .string(left.id)]).object("report")
      #expect(report.object("process").int("pid") == 4711)
      #expect(report.object("process").int("uid") == Int64(geteuid()))
    }
  }

  @Test("a ring that is left while crashd runs is stored")
  func whileRunning() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addCrash()
      try Self.leave(ring, in: daemon.directories.spool)
      try await daemon.client().untilReports(1)
    }
  }

  @Test("what is no ring of its owner is refused, removed and counted, and the next one is taken")
  func refused() async throws {
    var good = TestRing(id: 9)
    good.addCrash()
    let ring = good
    let prepare: (Directories) throws -> Void = { directories in
      let spool = directories.spool
      let name = { (digit: String) in String(repeating: digit, count: 32) }
      try Self.leave(ring, in: spool, name: name("1"), mode: 0o620)
      try Self.leave(ring, in: spool, name: "not-a-ring")
      try Data("short".utf8).write(to: URL(fileURLWithPath: "\(spool)/\(name("2")).ring"))
      try FileManager.default.createSymbolicLink(
        atPath: "\(spool)/\(name("3")).ring", withDestinationPath: "/etc/passwd")
      _ = unsafe mkfifo("\(spool)/\(name("4")).ring", 0o600)
      try FileManager.default.createDirectory(
        atPath: "\(spool)/\(name("5")).ring", withIntermediateDirectories: false)
      try Self.leave(ring, in: spool, name: name("6"))
      _ = unsafe link("\(spool)/\(name("6")).ring", "\(directories.runtime)/second-name")
      try Self.leave(ring, in: spool)
    }
    try await TestDaemon.run(prepare: prepare) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      try await client.until { try await daemon.refusals()["spool file"] == .int(7) }
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
      #expect(daemon.log.contains("refused spool file"))
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
    }
  }

  @Test("a partial file is removed when it is old, whatever its owner has made its time")
  func partialFiles() throws {
    // tmpfs, as /run is: it keeps any time.
    let path = "/dev/shm/cs-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: path) } }
    for (name, seconds) in [("a", Int.min), ("b", 0), ("c", time(nil)), ("d", Int.max)] {
      let file = "\(path)/\(name).ring.partial"
      try Data([1]).write(to: URL(fileURLWithPath: file))
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      // utimensat reads two timespecs.
      #expect(unsafe utimensat(AT_FDCWD, file, times, 0) == 0)
    }
    #expect(try SpoolDirectory(path: path).list(limit: 10).isEmpty)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["c.ring.partial", "d.ring.partial"])
  }

  @Test("a ring that cannot be opened for want of descriptors stays where it is")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      let directory = try TestDirectory()
      var ring = TestRing()
      ring.addCrash()
      try Self.leave(ring, in: directory.path)
      let spool = try SpoolDirectory(path: directory.path)
      let next = dup(0)
      close(next)
      var limit = rlimit(rlim_cur: UInt(next), rlim_max: UInt(next))
      // setrlimit reads one struct rlimit.
      guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(1) }
      do throws(SpoolRefusal) {
        _ = try spool.open("\(ring.id).ring")
        exit(2)
      } catch {
        exit(error.isPassing ? 0 : 3)
      }
    }
  }

  @Test("rings are stored and removed while the second unwindings of others still run")
  func secondUnwinding() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let script = "#!/bin/sh\ntest $1 = unwind && read line <'\(gate)'\nexit 65\n"
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    var limits = Limits.patient
    limits.unwind_ms = 600_000
    let prepare: (Directories) throws -> Void = { directories in
      for id in 1...5 {
        var ring = TestRing(id: UInt8(id))
        ring.addCrash(stack: [UInt8](repeating: 1, count: 64))
        try Self.leave(ring, in: directories.spool)
      }
    }
    try await TestDaemon.run(limits: limits, analysePath: program, prepare: prepare) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(5)
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
      let findings = { try await client.call("io.crashshield.Crashd.Status").object("unwindings") }
      #expect(try await findings() == [:])
      #expect(unsafe write(writer.number, "\n\n\n\n\n", 5) == 5)
      while try await findings()["failed"] != .int(5) { await Task.yield() }
    }
    withExtendedLifetime(writer) {}
  }

  @Test("a ring without a crash leaves no report")
  func empty() async throws {
    try await TestDaemon.run { daemon in
      try Self.leave(TestRing(), in: daemon.directories.spool)
      let client = try await daemon.client()
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").isEmpty)
    }
  }
}
