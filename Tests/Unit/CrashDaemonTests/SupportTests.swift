import CShimRing
import CrashProtocol
import CrashReport
import GRDB
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Support")
struct SupportTests {
  @Test(
    "SHA-256 computes the digests of the examples in FIPS 180-4",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func sha256(text: String, digest: String) {
    #expect(SHA256.hexadecimal(text) == digest)
  }

  @Test(
    "an RFC 3339 time with any UTC offset is parsed",
    arguments: [
      ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
      ("2026-11-21T08:10:00.25Z", "2026-11-21T08:10:00.250000Z"),
      ("2026-11-21T09:10:00+01:00", "2026-11-21T08:10:00.000000Z"),
      ("2024-02-29 23:59:59.1234567891z", "2024-02-29T23:59:59.123456Z"),
      ("2026-01-01T00:00:00-00:30", "2026-01-01T00:30:00.000000Z"),
      // A time beyond the range of a 64-bit count of nanoseconds becomes the latest time of this range.
      ("2554-07-21T23:34:33Z", "2554-07-21T23:34:33.000000Z"),
      ("2554-07-21T23:34:34Z", "2554-07-21T23:34:33.709551Z"),
      ("9999-12-31T23:59:60.999999999-23:59", "2554-07-21T23:34:33.709551Z"),
    ])
  func times(text: String, same: String) {
    #expect(Moment(rfc3339: text)?.description == same)
  }

  @Test(
    "a malformed RFC 3339 time is refused",
    arguments: [
      "", "now", "2026-11-21", "2026-13-01T00:00:00Z", "2026-11-21T25:00:00Z", "2026-11-21T08:10:00",
      "1969-12-31T23:59:59Z",
    ])
  func badTimes(text: String) {
    #expect(Moment(rfc3339: text) == nil)
  }

  @Test("all refusals are counted, and logged once a second per kind and user")
  func ledger() {
    let log = TestLog()
    let ledger = Ledger(logger: log.logger, limits: Limits())
    for _ in 0..<100 { ledger.refuse("hello", from: Peer(pid: 1, uid: 5), because: "short") }
    ledger.refuse("hello", from: Peer(pid: 1, uid: 6), because: "short")
    ledger.refuse("call", from: Peer(pid: 1, uid: 5), because: "long")
    #expect(ledger.refusals == ["hello": 101, "call": 1])
    #expect(
      log.lines == [
        "notice: refused hello from pid 1, uid 5: short", "notice: refused hello from pid 1, uid 6: short",
        "notice: refused call from pid 1, uid 5: long",
      ])
  }

  @Test("the ledger, which counts refusals, keeps entries for a bounded number of users")
  func ledgerLimit() {
    var limits = Limits()
    limits.rememberedRefusals = 2
    let log = TestLog()
    let ledger = Ledger(logger: log.logger, limits: limits)
    for uid in 0..<10 { ledger.refuse("hello", from: Peer(pid: 1, uid: UInt32(uid)), because: "short") }
    #expect(ledger.refusals == ["hello": 10])
    #expect(log.lines.count == 2)
  }

  @Test("a ring is unpacked unchanged from its excerpt, which omits empty parts")
  func excerpt() throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    let packed = RingExcerpt.pack(ring.bytes)
    #expect(RingExcerpt.unpack(packed) == ring.bytes)
    #expect(packed.count < 16_384)
    let memory = try ring.memory()
    #expect(try RingExcerpt.unpack(RingExcerpt.read(descriptor: memory.number)) == ring.bytes)
  }

  @Test(
    "images and classes are read up to the header's count, at most up to the table's size", arguments: [true, false])
  func counts(areHuge: Bool) throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    for field in [\cs_ring_header.image_count, \cs_ring_header.class_count] {
      ring.put(areHuge ? UInt32.max : 0, at: try #require(MemoryLayout<cs_ring_header>.offset(of: field)))
    }
    let memory = try ring.memory()
    let unpacked = try #require(try RingExcerpt.unpack(RingExcerpt.read(descriptor: memory.number)))
    #expect((unpacked == ring.bytes) == areHuge)
    let header = MemoryLayout<cs_ring_header>.size
    #expect(unpacked[..<header] == ring.bytes[..<header])
  }

  @Test("the excerpt of a ring has the running and the trapped requests, but no other ended request")
  func excerptOfRequests() throws {
    var ring = TestRing()
    ring.addCrash()
    ring.addRequest(0, number: 1, operation: "GET /")
    ring.addRequest(1, number: 2, operation: "POST /secret", isRunning: false)
    ring.addRequest(5, number: 4, operation: "GET /trap")
    ring.trapRequest(5)
    ring.addRequest(9, number: 3, operation: "GET /cart")
    let memory = try ring.memory()
    let unpacked = try #require(try RingExcerpt.unpack(RingExcerpt.read(descriptor: memory.number)))
    let ended = ring.request(1)..<ring.request(2)
    #expect(unpacked[ended].allSatisfy { $0 == 0 })
    ring.put([UInt8](repeating: 0, count: ended.count), at: ended.lowerBound)
    #expect(unpacked == ring.bytes)
  }

  @Test("the excerpt of a ring of version 5 unpacks to a ring of the size of version 5")
  func earlierExcerpt() throws {
    let ring = Array(TestRing().bytes.prefix(Int(CS_RING_EARLIER_BYTES)))
    #expect(RingExcerpt.unpack(RingExcerpt.pack(ring)) == ring)
    var other = RingExcerpt.pack(ring)
    other[8] ^= 1
    #expect(RingExcerpt.unpack(other) == nil)
  }

  @Test("malformed bytes are not unpacked as an excerpt")
  func badExcerpt() {
    let good = RingExcerpt.pack(TestRing().bytes)
    #expect(RingExcerpt.unpack([]) == nil)
    #expect(RingExcerpt.unpack(Array(good.dropLast())) == nil)
    #expect(RingExcerpt.unpack(good + [1]) == nil)
    var farOff = good
    farOff[20] = 0xff
    #expect(RingExcerpt.unpack(farOff) == nil)
  }

  @Test(
    "the unit of a process is the innermost service in its control group's path",
    arguments: [
      ("0::/system.slice/shop.service\n", "shop.service"),
      ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service\n", "shop.service"),
      ("0::/system.slice/shop.service/worker\n", "shop.service"),
      ("12:cpu:/other.service\n1:name=systemd:/system.slice/shop.service\n0::/\n", "shop.service"),
    ])
  func unit(cgroup: String, unit: String) {
    #expect(ProcessUnit.parse(cgroup) == unit)
  }

  @Test(
    "a process outside of systemd services has no unit",
    arguments: ["", "0::/\n", "0::/user.slice/session-1.scope\n", "x"])
  func noUnit(cgroup: String) {
    #expect(ProcessUnit.parse(cgroup) == nil)
  }
}

@Suite("The start of crashd")
struct StartTests {
  @Test("crashd uses the directories that systemd passes, else root's directories, else the user's")
  func directories() {
    let systemd = ["RUNTIME_DIRECTORY": "/run/x:/run/y", "STATE_DIRECTORY": "/var/lib/x"]
    #expect(Directories.standard(environment: systemd, user: 7) == Directories(runtime: "/run/x", state: "/var/lib/x"))
    #expect(
      Directories.standard(environment: [:], user: 0) == Directories(runtime: "/run/crashd", state: "/var/lib/crashd"))
    #expect(
      Directories.standard(environment: ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/a"], user: 7)
        == Directories(runtime: "/run/user/7/crashd", state: "/home/a/.local/state/crashd"))
    #expect(Directories.standard(environment: ["HOME": "/home/a"], user: 7) == nil)
  }

  @Test("sockets that systemd passed are counted if they are for this process")
  func passedSockets() {
    let environment = ["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "crashd:crashd"]
    #expect(PassedSockets.parse(environment: environment, pid: 42) == [3, 4])
    #expect(PassedSockets.parse(environment: environment, pid: 43).isEmpty)
    #expect(PassedSockets.parse(environment: ["LISTEN_PID": "42", "LISTEN_FDS": "-1"], pid: 42).isEmpty)
  }

  @Test("passed sockets are matched by type; duplicates and other descriptors are refused")
  func passedKinds() throws {
    let directory = try TestDirectory()
    let stream = try UnixSocket.listen(path: "\(directory.path)/s", kind: .stream)
    let packets = try UnixSocket.listen(path: "\(directory.path)/p", kind: .packets)
    let numbers = [dup(packets.number), dup(stream.number)]
    let taken = try PassedSockets.take(numbers)
    #expect(taken[.packets]?.number == numbers[0])
    #expect(taken[.stream]?.number == numbers[1])
    #expect(throws: DaemonError.self) { try PassedSockets.take([dup(stream.number), stream.number]) }
    #expect(throws: DaemonError.self) { try PassedSockets.take([-1]) }
  }

  @Test(
    "crashd waits at its start for a lock that a child of a killed crashd holds, but not forever")
  func lockLeftBehind() throws {
    let path = "\(try TestDirectory().path)-lock"
    defer { unsafe unlink(path) }
    var left: DirectoryLock? = try DirectoryLock(path: path)
    #expect(throws: DaemonError.locked(path: path)) { try DirectoryLock(path: path, patience_ms: 30) }
    // The thread holds the lock for 50 ms, like a child process with a copy of the descriptor. The lock is free only
    // when both references are released.
    try Thread.start(named: "child") { [left] in withExtendedLifetime(left) { _ = usleep(50_000) } }
    left = nil
    let next = try DirectoryLock(path: path, patience_ms: 600_000)
    withExtendedLifetime(next) {}
  }

  @Test("two daemons never share a runtime directory")
  func lock() async throws {
    let directory = try TestDirectory()
    let first = try TestDaemon(directory)
    let error = #expect(throws: DaemonError.self) { try TestDaemon(directory) }
    #expect(error?.description.contains("another crashd holds") == true)
    try await first.run { _ in }
  }

  @Test("two daemons never share a state directory; one daemon may use one directory for both purposes")
  func stateLock() async throws {
    let directory = try TestDirectory()
    let first = try TestDaemon(directory)
    let other = Directories(runtime: "\(directory.path)/other", state: first.directories.state)
    let error = #expect(throws: DaemonError.self) {
      try Daemon(DaemonConfiguration(directories: other, handlesSignals: false), logger: first.log.logger)
    }
    #expect(error == .locked(path: first.directories.stateLock))
    let same = Directories(runtime: directory.path, state: directory.path)
    #expect(same.runtimeLock != same.stateLock)
    try await first.run { _ in }
  }

  @Test("a configured program that cannot be executed is an error with the program's name")
  func analysePath() async throws {
    try await TestDaemon.run(analysePath: "/nowhere/analyse") { daemon in
      #expect(daemon.log.lines.contains { $0.contains("'/nowhere/analyse' cannot be run") })
    }
  }

  @Test("crashd does not start with another program's database, and its error names the file")
  func foreignStore() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: DaemonError.self) {
      try TestDaemon(directory) { directories in
        let other = try DatabaseQueue(path: "\(directories.state)/reports.sqlite")
        try other.write { try $0.execute(sql: "PRAGMA application_id = 7; CREATE TABLE other (x)") }
      }
    }
    #expect(error == .store("cannot open '\(directory.path)/s/reports.sqlite': it is not a report database"))
  }

  @Test("a file that is not a database is set aside at the start and reported")
  func badStore() async throws {
    let directory = try TestDirectory()
    let daemon = try TestDaemon(directory) { _ in
      _ = try directory.write(Array(repeating: 65, count: 4_096), to: "s/reports.sqlite")
    }
    try await daemon.run { daemon in
      let client = try await daemon.client()
      let outages = { try await client.call("io.crashshield.Crashd.Status").array("trouble") }
      try await client.until { try await !outages().isEmpty }
      guard case .string(let sentence)? = try await outages().first else { return }
      #expect(sentence.contains("reports.sqlite.corrupt-") && sentence.contains("nothing in it could be read"))
    }
  }

  @Test("every user may write into the spool directory; only its owner may list it")
  func spoolMode() async throws {
    try await TestDaemon.run { daemon in
      var status = stat()
      // stat() writes one struct stat.
      #expect(unsafe stat(daemon.directories.spool, &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o1733)
    }
  }

  @Test("when crashd stops, it stores the records that attached processes have written")
  func stop() async throws {
    let directory = try TestDirectory()
    var ring = TestRing()
    let memory = try ring.memory()
    try await TestDaemon(directory).run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      ring.addCrash()
      try ring.write(to: memory)
      try process.wake()
    }
    try await TestDaemon(directory).run { daemon in
      let report = try await daemon.client().call("io.crashshield.Crashd.Get").object("report")
      #expect(report.string("id") == ring.id)
    }
  }
}
