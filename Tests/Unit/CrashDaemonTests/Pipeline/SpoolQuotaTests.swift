import CShimRing
import CrashProtocol
import CrashReport
import CrashStore
import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Limits of the spool")
struct SpoolQuotaTests {
  private func names(_ directory: TestDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
  }

  @Test("F12: spool entries of any type with a name that the shield does not use are removed")
  func foreignNames() throws {
    let directory = try TestDirectory()
    let spool = try SpoolDirectory(path: directory.path)
    _ = try directory.write([1], to: "file")
    _ = try directory.write([1], to: "some.ring.part")
    // Invariant: the C strings are valid during the calls.
    #expect(unsafe symlink("/etc/passwd", directory.path + "/link") == 0)
    #expect(unsafe mkfifo(directory.path + "/pipe", 0o600) == 0)
    #expect(unsafe mkdir(directory.path + "/empty", 0o700) == 0 && mkdir(directory.path + "/full", 0o700) == 0)
    _ = try directory.write([1], to: "full/file")
    _ = try directory.write([1], to: "a.ring")
    _ = try directory.write([1], to: "b.ring.partial")
    for name in ["c.ring", "d.ring.partial"] { #expect(unsafe mkdir("\(directory.path)/\(name)", 0o700) == 0) }
    #expect(unsafe symlink("/etc/passwd", directory.path + "/e.ring.partial") == 0)
    let found = try spool.tidy(Limits())
    #expect(
      found.foreign.map(\.name).sorted() == [
        "c.ring", "d.ring.partial", "e.ring.partial", "empty", "file", "link", "pipe", "some.ring.part",
      ])
    #expect(found.hasPartial && found.excess.isEmpty)
    // The directory `full` is not empty, so crashd cannot remove it: only the owner of a directory can empty it.
    #expect(try names(directory) == ["a.ring", "b.ring.partial", "full"])
    #expect(spool.count() == 1)
  }

  @Test(
    "F12: a user's spool files above the quota are removed, the oldest first; root's stay",
    .enabled(if: geteuid() == 0))
  func quota() throws {
    let directory = try TestDirectory()
    let spool = try SpoolDirectory(path: directory.path)
    var last: timespec?
    for (index, name) in ["a.ring", "b.ring", "c.ring.partial", "d.ring", "root.ring"].enumerated() {
      var status = stat()
      repeat {
        let path = try directory.write([UInt8](repeating: 1, count: 8_192), to: name)
        // Invariant: the C string is valid during the calls, one of which writes one struct stat.
        if index < 4 { #expect(unsafe chown(path, 54_021, 54_021) == 0) }
        #expect(unsafe stat(path, &status) == 0)
        // The kernel's clock for file times has a coarse resolution. Therefore write the file again until its time
        // differs from that of the previous file.
      } while last.map { $0.tv_sec == status.st_ctim.tv_sec && $0.tv_nsec == status.st_ctim.tv_nsec } == true
      last = status.st_ctim
    }
    var limits = Limits()
    limits.spoolBytesPerUser = 20_000
    #expect(try spool.tidy(limits).excess == [54_021: 2])
    #expect(try names(directory) == ["c.ring.partial", "d.ring", "root.ring"])
    #expect(try spool.tidy(limits).excess == [:])
  }

  @Test("F12: empty spool files are counted, and a user's number of files is limited", .enabled(if: geteuid() == 0))
  func emptyFiles() throws {
    let directory = try TestDirectory()
    let spool = try SpoolDirectory(path: directory.path)
    for index in 0..<8 {
      let path = try directory.write([], to: "\(index).ring.partial")
      // Invariant: the C string is valid during the call.
      #expect(unsafe chown(path, 54_021, 54_021) == 0)
    }
    var limits = Limits()
    limits.spoolFilesPerUser = 6
    // `excess` is empty, because the removed files contain no complete ring.
    #expect(try spool.tidy(limits).excess.isEmpty)
    #expect(try names(directory).count == 6)
    limits.spoolBytesPerUser = 4 * 4_096
    #expect(try spool.tidy(limits).excess.isEmpty)
    #expect(try names(directory).count == 4)
  }

  @Test("F11: files of a user's subordinate uids are counted as files of that user", .enabled(if: geteuid() == 0))
  func subordinates() throws {
    let (directory, other) = (try TestDirectory(), try TestDirectory())
    let spool = try SpoolDirectory(path: directory.path)
    for uid in UInt32(54_300)..<54_304 {
      let path = try directory.write([UInt8](repeating: 1, count: 8_192), to: "\(uid).ring")
      // Invariant: the C string is valid during the call.
      #expect(unsafe chown(path, uid, uid) == 0)
    }
    var limits = Limits()
    limits.spoolBytesPerUser = 20_000
    limits.accounts = UserAccounts(
      ranges: try other.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    #expect(try spool.tidy(limits).excess == [54_021: 2])
    #expect(try names(directory).count == 2)
  }

  @Test("F12: a foreign spool file is removed while crashd runs, and is counted as a refusal")
  func whileRunning() async throws {
    try await TestDaemon.run(prepare: { try Data([1]).write(to: URL(fileURLWithPath: $0.spool + "/before")) }) {
      daemon in
      let client = try await daemon.client()
      let isEmpty = { try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty }
      try await client.until(isEmpty)
      try Data([1]).write(to: URL(fileURLWithPath: daemon.directories.spool + "/after"))
      try await client.until(isEmpty)
      try await client.until { try await daemon.refusals()["spool file"] == .int(2) }
    }
  }

  @Test("F21: Status counts the waiting spool files only for users who may see all reports")
  func status() async throws {
    try await TestDaemon.run { daemon in
      let status = try await daemon.client().call("io.crashshield.Crashd.Status")
      #expect(status.int("spooled") == 0)
    }
  }

  @Test("F21: the pid of a spool file is shown as claimed")
  func claimedPID() async throws {
    var ring = TestRing(name: "systemd", pid: 1)
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try SpoolTests.leave(left, in: $0.spool) }) { daemon in
      try await daemon.client().untilReports(1)
      let report = try daemon.store.report(idPrefix: left.id).report
      #expect(report.process.pid == 1 && report.process.isPIDClaimed == true)
    }
  }

  @Test("F21: a ring that the program overwrote before crashd read it is counted as a loss")
  func overwrittenRing() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.put(UInt64(0), at: 0)
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .malformed)
      let losses = try await daemon.client().call("io.crashshield.Crashd.Status").object("losses")
      #expect(losses["ring"] == .int(1))
    }
  }
}
