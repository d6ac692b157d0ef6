import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

// These tests check the limits of caches and of jobs that build caches, in total and per user.
extension SymbolCachesTests {
  /// Writes a file of 100 bytes.
  ///
  /// `used` becomes the file's access time, which is the time of last use. `made` becomes its modification time, which
  /// is the time of creation.
  private func write(_ name: String, in directory: TestDirectory, used: Int, made: Int) throws {
    let path = try directory.write([UInt8](repeating: 1, count: 100), to: name)
    let times = [timespec(tv_sec: used, tv_nsec: 0), timespec(tv_sec: made, tv_nsec: 0)]
    // utimensat() reads two timespecs.
    #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
  }

  private func files(_ directory: TestDirectory) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { $0.contains(".") }.sorted()
  }

  @Test("symbol caches above the size limit are evicted, least recently used first")
  func prune() throws {
    let directory = try TestDirectory()
    for (index, name) in ["a.cssym", "b.cssym", "c.cssym", "d.txt"].enumerated() {
      // The cache `a` was created first and used last.
      try write(name, in: directory, used: 2_000_000 - index, made: 1_000_000 + index)
    }
    let caches = CacheDirectory(path: directory.path)
    try caches.prune(to: 200, shareBytes: 1_000)
    #expect(try files(directory) == ["a.cssym", "b.cssym", "d.txt"])
    CacheDirectory.touch("\(directory.path)/b.cssym")
    try caches.prune(to: 1_000, shareBytes: 100)
    #expect(try files(directory) == ["b.cssym", "d.txt"])
  }

  @Test("the caches of all users share one limit, and the user with the most bytes loses caches first")
  func pruneAll() throws {
    let directory = try TestDirectory()
    for user in ["1001", "1002"] {
      try FileManager.default.createDirectory(atPath: "\(directory.path)/\(user)", withIntermediateDirectories: false)
    }
    let names = ["a.cssym", "1001/a.cssym", "1001/b.cssym", "1001/c.cssym", "1002/a.cssym"]
    for (index, name) in names.enumerated() { try write(name, in: directory, used: 1_000_000 + index, made: 1) }
    try CacheDirectory(path: directory.path).prune(to: 350, shareBytes: 1_000)
    #expect(try files(directory) == ["1001/c.cssym", "1002/a.cssym", "a.cssym"])
  }

  @Test("unfinished cache files of an earlier crashd are removed")
  func leftovers() throws {
    let directory = try TestDirectory()
    try FileManager.default.createDirectory(atPath: "\(directory.path)/1001", withIntermediateDirectories: false)
    let own = "ab.cssym.\(getpid()).7.partial"
    for name in ["ab.cssym", "ab.cssym.1.7.partial", "1001/ab.1.csunw.1.7.partial", own] {
      _ = try directory.write([1], to: name)
    }
    try CacheDirectory(path: directory.path).removeLeftovers()
    #expect(try files(directory) == ["ab.cssym", own])
  }

  /// Creates caches.
  ///
  /// Jobs for images named `slow…` wait at `gate`; jobs for other images finish at once.
  func fairness(_ directory: TestDirectory, isHasty: Bool) throws -> (SymbolCaches, gate: Descriptor) {
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    for (name, id) in [("slow1", 0xa1), ("slow2", 0xa2), ("slow3", 0xa3), ("fast", 0xf0)] as [(String, UInt8)] {
      _ = try directory.write(Array("\(name)\n".utf8), to: name, mode: 0o666)
      let output = Descriptor(
        owning: unsafe Glibc.open(try directory.write([], to: "\(name).ready"), O_WRONLY | O_CLOEXEC))
      var contents = SymbolCacheContents(
        base: 0, buildID: [id], ranges: [], locations: [], contexts: [], functions: [], strings: [0])
      contents.isPartial = isHasty
      try SymbolCacheWriter.write(contents, to: output.number)
    }
    // If `isHasty` is true, the jobs for complete caches also wait at the gate, so only partial caches become ready.
    let whole = isHasty ? "test $# = 3 && read line <'\(gate)'" : ":"
    let slow = "case $image in slow*) read line <'\(gate)';; esac"
    let caches = try caches(
      directory, script: "read image </proc/self/fd/0; \(whole); \(slow); cat '\(directory.path)'/$image.ready")
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    return (caches, Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC)))
  }

  @Test("slow images of one user do not delay the images of other users", arguments: [false, true])
  func fair(isHasty: Bool) async throws {
    let directory = try TestDirectory()
    let (caches, gate) = try fairness(directory, isHasty: isHasty)
    let image = { (name: String, id: String) in
      ImageFile(buildID: id, path: "\(directory.path)/\(name)", isExecutable: true, descriptor: nil)
    }
    let slow = [("slow1", "a1"), ("slow2", "a2"), ("slow3", "a3")]
    await caches.prepare(slow.map(image), for: 1_001)
    let waiting = Task {
      await caches.caches(of: ["a1": [1], "a2": [1], "a3": [1]], for: 1_001, timeout_ms: 600_000)
    }
    // The slow images use all permits of their user, so further images of this user wait.
    while await caches.hastyJobCount != 2 { await Task.yield() }
    await caches.prepare([image("fast", "f0")], for: 1_002)
    let found = await caches.caches(of: ["f0": [1]], for: 1_002, timeout_ms: 600_000)
    #expect(found["f0"]?.isPartial == isHasty)
    // The cache of the fast image is ready, so the slow jobs can end now.
    waiting.cancel()
    for _ in 0..<16 { #expect(unsafe Glibc.write(gate.number, "\n", 1) == 1) }
    #expect(await waiting.value.count == 3)
    withExtendedLifetime(gate) {}
  }

  @Test("one user's waiting images are limited, and another's are accepted")
  func waitingLimit() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.symbolJobs, limits.symbolJobsAtOncePerUser, limits.symbolJobsPerUser) = (3, 1, 1)
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; exit 65", limits: limits)
    let image = { (id: String) in
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      return ImageFile(buildID: id, path: path, isExecutable: true, descriptor: nil)
    }
    // The job of the first image runs, the job of the second one waits, and crashd refuses the job of the third one.
    for id in ["a1", "a2", "a3"] { await caches.prepare([try image(id)], for: 1_001) }
    await caches.prepare([try image("b1")], for: 1_002)
    #expect(await caches.waitingJobs.map(\.name.buildID) == ["a2"])
    #expect(await caches.entries.keys.map(\.buildID).sorted() == ["a1", "a2", "b1"])
    #expect(await caches.configuration.ledger.refusals == ["symbols": 1])
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    #expect(await caches.caches(of: ["a1": [], "a2": []], for: 1_001, timeout_ms: 600_000).isEmpty)
    #expect(await caches.caches(of: ["b1": []], for: 1_002, timeout_ms: 600_000).isEmpty)
  }

  @Test("F11: images of a user's subordinate uids are counted towards that user's limit")
  func subordinates() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.symbolJobsAtOncePerUser, limits.symbolJobsPerUser) = (1, 1)
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; exit 65", limits: limits)
    // The job of the first image runs, the job of the second one waits, and crashd refuses the job of the third one.
    for (id, user) in [("a1", 54_021), ("a2", 54_300), ("a3", 54_301)] as [(String, UInt32)] {
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      await caches.prepare(
        [ImageFile(buildID: id, path: path, isExecutable: true, descriptor: nil)], for: user)
    }
    #expect(await caches.waitingJobs.map(\.name.buildID) == ["a2"])
    #expect(await caches.configuration.ledger.refusals == ["symbols": 1])
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    #expect(await caches.caches(of: ["a2": []], for: 54_300, timeout_ms: 600_000).isEmpty)
  }

  @Test("F11: slow images of several users leave a permit for root's images", arguments: [false, true])
  func keptPlace(isHasty: Bool) async throws {
    let directory = try TestDirectory()
    let (caches, gate) = try fairness(directory, isHasty: isHasty)
    let slow: [(String, String, UInt32)] = [("slow1", "a1", 1_001), ("slow2", "a2", 1_002), ("slow3", "a3", 1_003)]
    var waiting: [Task<Int, Never>] = []
    for (name, id, user) in slow {
      let image = ImageFile(buildID: id, path: "\(directory.path)/\(name)", isExecutable: true, descriptor: nil)
      await caches.prepare([image], for: user)
      waiting.append(Task { await caches.caches(of: [id: [1]], for: user, timeout_ms: 600_000).count })
    }
    while await caches.hastyJobCount != 3 { await Task.yield() }
    let image = ImageFile(buildID: "f0", path: "\(directory.path)/fast", isExecutable: true, descriptor: nil)
    await caches.prepare([image], for: geteuid())
    let found = await caches.caches(of: ["f0": [1]], for: geteuid(), timeout_ms: 600_000)
    #expect(found["f0"]?.isPartial == isHasty)
    for _ in 0..<16 { #expect(unsafe Glibc.write(gate.number, "\n", 1) == 1) }
    for task in waiting { #expect(await task.value == 1) }
    withExtendedLifetime(gate) {}
  }
}
