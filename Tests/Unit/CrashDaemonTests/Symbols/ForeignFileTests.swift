import CLinux
import CTestKit
import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

/// The tests run one after the other.
///
/// The children that these tests fork close the descriptors of all tests, and could block at a descriptor whose file
/// system hangs.
@Suite("Files at paths chosen by other users", .serialized)
struct ForeignFileTests {
  /// A pipe that simulates a hanging file: reading a byte blocks until the test writes a byte.
  private struct Hanging {
    let reader: Descriptor
    let writer: Descriptor

    init() {
      var pipes: [Int32] = [-1, -1]
      // pipe() writes two numbers.
      #expect(unsafe pipe(&pipes) == 0)
      for number in pipes { #expect(fcntl(number, F_SETFD, FD_CLOEXEC) == 0) }
      (reader, writer) = (Descriptor(owning: pipes[0]), Descriptor(owning: pipes[1]))
    }

    var work: @Sendable () -> Void {
      { [reader] in
        var byte: UInt8 = 0
        // Invariant: read() writes one byte into one byte.
        _ = unsafe read(reader.number, &byte, 1)
      }
    }

    func end(_ count: Int) {
      // Invariant: the string has as many bytes as the passed count.
      #expect(unsafe write(writer.number, String(repeating: "x", count: count), count) == count)
    }
  }

  @Test("F8: a hanging file system blocks one thread, and work for other paths and users continues")
  func hangingPlace() async throws {
    var limits = Limits()
    (limits.foreignThreads, limits.foreignThreadsPerUser, limits.foreignWorkPerUser) = (5, 2, 1)
    let (work, hanging) = (ForeignFileWork(limits), Hanging())
    work.submit(of: 1, at: "dead", hanging.work)
    while work.isFull(1) { await Task.yield() }
    // The next two jobs wait behind the first one, which hangs, and leave the queue when their time limit ends.
    #expect(await work.result(of: 1, at: "dead", timeout_ms: 1) { 1 } == nil)
    #expect(work.wait(of: 1, at: "dead", timeout_ms: 1) { 2 } == nil)
    #expect(!work.isFull(1))
    #expect(await work.result(of: 1, at: "alive", timeout_ms: 600_000) { 3 } == 3)
    #expect(work.wait(of: 2, at: "dead", timeout_ms: 600_000) { 4 } == 4)
    hanging.end(1)
    #expect(await work.result(of: 1, at: "dead", timeout_ms: 600_000) { 5 } == 5)
  }

  @Test("F8: a user with too much waiting work is refused at once, and root has a reserved thread")
  func fullUser() async throws {
    let directory = try TestDirectory()
    var limits = Limits()
    (limits.foreignThreads, limits.foreignThreadsPerUser, limits.foreignWorkPerUser) = (2, 1, 1)
    limits.trustedForeignWork = 3
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    let (work, hanging) = (ForeignFileWork(limits), Hanging())
    work.submit(of: 54_021, at: "dead", hanging.work)
    while work.isFull(54_021) { await Task.yield() }
    for user: UInt32 in [54_300, 54_022] { work.submit(of: user, at: "dead", hanging.work) }
    #expect(work.isFull(54_021) && work.isFull(54_301) && work.isFull(54_022) && !work.isFull(54_023))
    #expect(await work.result(of: 54_301, at: "alive", timeout_ms: 600_000) { 1 } == nil)
    #expect(work.wait(of: 54_301, at: "alive", timeout_ms: 600_000) { 2 } == nil)
    // The users' jobs occupy all threads except the one that is reserved for root.
    let root = geteuid()
    #expect(await work.result(of: root, at: "alive", timeout_ms: 600_000) { 3 } == 3)
    work.submit(of: root, at: "dead", hanging.work)
    work.submit(of: root, at: "dead") {}
    #expect(!work.isFull(root))
    hanging.end(4)
    while work.isFull(54_021) || work.isFull(54_022) { await Task.yield() }
    #expect(await work.result(of: root, at: "dead", timeout_ms: 600_000) { 4 } == 4)
  }

  /// Whether the test can mount a FUSE file system, which it uses to simulate a hang.
  static let canMount: Bool = {
    guard geteuid() == 0, let directory = try? TestDirectory() else { return false }
    var mount = cd_test_mount()
    // Invariant: the C string is valid during the calls; the first call writes the structure.
    guard unsafe cd_test_mount_hanging(directory.path, &mount) == 0 else { return false }
    unsafe cd_test_unmount(directory.path, &mount)
    return true
  }()

  /// An image on a file system that no longer answers.
  private final class DeadImage: Sendable {
    let path: String
    let descriptor: Descriptor
    private let directory: TestDirectory
    private let mount: cd_test_mount

    init() throws {
      directory = try TestDirectory()
      var mount = cd_test_mount()
      // Invariant: the C string is valid during the call, which writes the structure.
      try SystemError.check(unsafe cd_test_mount_hanging(directory.path, &mount), "mount '\(directory.path)'")
      path = directory.path + "/image"
      descriptor = Descriptor(foreign: unsafe open(path, O_RDONLY | O_CLOEXEC), of: 0)
      self.mount = mount
      unsafe cd_test_hang(&mount)
    }

    /// Unmounts the file system.
    ///
    /// Calls that wait for the file system then fail.
    func end() {
      var mount = mount
      // Invariant: the C string is valid during the call.
      unsafe cd_test_unmount(directory.path, &mount)
    }
  }

  @Test(
    "F8: an image on a file system that hangs delays no other user's crash", .enabled(if: canMount),
    arguments: [false, true])
  func hangingImage(isSent: Bool) async throws {
    let image = try DeadImage()
    let isOver = try MutexFlag.alarm(image.end)
    var limits = Limits.patient
    (limits.imageLook_ms, limits.symbolWait_ms) = (1_000, 1_000)
    (limits.symbolJob_ms, limits.unwindTables_ms) = (1_000, 1_000)
    let directory = try TestDirectory()
    let program = try directory.write(Array("#!/bin/sh\nread line; exit 65\n".utf8), to: "analyse", mode: 0o700)
    try await TestDaemon.run(limits: limits, analysePath: program) { daemon in
      var hostile: [TestProcess] = []
      for id in 1...4 {
        var ring = TestRing(id: UInt8(id))
        ring.addImage(0, path: image.path, buildID: [0xde, 0xad, UInt8(id)])
        let process = try await daemon.attach()
        let sent = isSent ? [image.descriptor] : []
        try process.send(TestProcess.hello(images: isSent ? [0] : []), try [ring.memory()] + sent)
        hostile.append(process)
      }
      var ring = TestRing(id: 9)
      ring.addImage(0, path: try directory.write([1], to: "good"), buildID: [0xab, 0xcd])
      ring.addCrash()
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      try process.wake()
      try await daemon.client().untilReports(1)
      #expect(!isOver.isSet)
      for process in hostile { process.hangUp() }
      if isOver.set() { image.end() }
    }
    withExtendedLifetime(image) {}
  }

  @Test("F8: a hanging debug file is not opened through .. as a file of the machine", .enabled(if: canMount))
  func hangingDebugFile() async throws {
    let image = try DeadImage()
    let isOver = try MutexFlag.alarm(image.end)
    let directory = try TestDirectory()
    let (debug, stored) = ("\(directory.path)/debug", "\(directory.path)/caches")
    // Invariant: the C strings are valid during the calls.
    #expect(unsafe mkdir(debug, 0o755) == 0 && mkdir(stored, 0o755) == 0)
    var contents = SymbolCacheContents(
      base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0],
      hasDebugInformation: false)
    contents.debugLink = "shop.debug"
    let file = try directory.write([], to: "caches/abcd.cssym")
    let cache = Descriptor(owning: unsafe open(file, O_WRONLY | O_CLOEXEC))
    try SymbolCacheWriter.write(contents, to: cache.number)
    withExtendedLifetime(cache) {}
    let caches = SymbolCaches(
      SymbolCaches.Configuration(
        directory: stored, program: "/nowhere", debugDirectory: debug, limits: .patient,
        ledger: Ledger(logger: TestLog.logger, limits: .patient), logger: TestLog.logger))
    // crashd searches the debug directory before it opens the image's path.
    let path = String(repeating: "/..", count: 8) + image.path
    await caches.prepare([self.image(path)], for: 54_321)
    #expect(await caches.caches(of: ["abcd": []], for: 54_321, timeout_ms: 600_000)["abcd"] != nil)
    #expect(!isOver.isSet)
    if isOver.set() { image.end() }
  }

  private func image(_ path: String, descriptor: Descriptor? = nil) -> ImageFile {
    ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: descriptor)
  }

  @Test("F14: a file of root that a user sent is trusted for that user only, unless it is a file of the machine")
  func sentFiles() throws {
    let directory = try TestDirectory()
    let path = try directory.write([1], to: "image", mode: 0o644)
    let sent = Descriptor(owning: unsafe open(path, O_RDONLY | O_CLOEXEC))
    let user: UInt32 = 54_321
    // opened(for:) returns nil, because no call of open(for:) has determined the owner of the file yet.
    #expect(try image(path, descriptor: sent).opened(for: user) == nil)
    #expect(try image("/nowhere", descriptor: sent).open(for: user).owner == .user(user))
    let other = try directory.write([1], to: "other", mode: 0o644)
    #expect(try image(other, descriptor: sent).open(for: user).owner == .user(user))
    #expect(try image("/nowhere", descriptor: sent).open(for: 0).owner == .allUsers)
    let owner: CacheOwner = directory.isVouchedFor ? .allUsers : .user(user)
    #expect(try image(path, descriptor: sent).open(for: user).owner == owner)
  }

  @Test(
    "F14: a path through a link of /proc, which may lead into a container, opens nothing", arguments: [false, true])
  func linksOfProcesses(isBehindLink: Bool) throws {
    let directory = try TestDirectory()
    let path = try directory.write([1], to: "image", mode: 0o644)
    var through = "/proc/self/root" + path
    if isBehindLink {
      // Invariant: the C strings are valid during the call.
      #expect(unsafe symlink(through, directory.path + "/link") == 0)
      through = directory.path + "/link"
    }
    let user: UInt32 = 54_321
    let sent = Descriptor(owning: unsafe open(path, O_RDONLY | O_CLOEXEC))
    #expect(try image(through, descriptor: sent).open(for: user).owner == .user(user))
    #expect(throws: SystemError.self) { try image(through).open(for: user) }
  }

  @Test(
    "F19: crashd as root reveals no file of a directory that the user cannot read", .enabled(if: geteuid() == 0),
    arguments: ["file", "link", "directory", "pipe", "nothing"])
  func closedDirectory(name: String) throws {
    let directory = try TestDirectory()
    let closed = directory.path + "/closed"
    // Invariant: the C strings are valid during the calls.
    #expect(unsafe mkdir(closed, 0o700) == 0 && mkdir(closed + "/directory", 0o755) == 0)
    #expect(unsafe mkfifo(closed + "/pipe", 0o644) == 0)
    _ = try directory.write([1], to: "closed/file", mode: 0o644)
    let open = try directory.write([1], to: "open", mode: 0o644)
    #expect(unsafe symlink(open, closed + "/link") == 0)
    let path = "\(closed)/\(name)"
    let error = #expect(throws: SystemError.self) { try image(path).open(for: 54_321) }
    #expect(error?.description == SystemError("open image '\(path)'", code: EACCES).description)
    #expect(throws: Never.self) { try image(open).open(for: 54_321) }
    // Only root can access this file, so the thread has root's privileges again.
    #expect(unsafe access(closed + "/file", R_OK) == 0)
  }

  @Test("F19: threads that open files for users leave crashd's dumpable flag unchanged", .enabled(if: geteuid() == 0))
  func dumpable() async throws {
    let directory = try TestDirectory()
    let path = try directory.write([1], to: "image", mode: 0o644)
    let before = cd_test_dumpable()
    let work = ForeignFileWork(Limits())
    await withTaskGroup(of: Void.self) { group in
      for user in 1..<UInt32(17) {
        group.addTask {
          let opened = await work.result(of: user, at: path, timeout_ms: 600_000) {
            (0..<500).count { _ in (try? image(path).open(for: user)) != nil }
          }
          #expect(opened == 500)
        }
      }
    }
    #expect(cd_test_dumpable() == before)
  }
}

extension TestDirectory {
  /// Whether the mount that contains the directory honors the set-user-ID bit.
  ///
  /// Machines differ in the option `nosuid`, for example for `/tmp`.
  var isVouchedFor: Bool {
    let file = Descriptor(owning: unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    var isVouchedFor = false
    // Invariant: the call writes one Bool.
    return unsafe cd_file_is_vouched_for(file.number, &isVouchedFor) == 0 && isVouchedFor
  }
}

/// A flag that only the first call of `set` sets.
final class MutexFlag: Sendable {
  private let state = Mutex(false)

  var isSet: Bool { state.withLock { $0 } }

  /// - Returns: Returns whether this call has set the flag.
  func set() -> Bool {
    state.withLock { state in
      defer { state = true }
      return !state
    }
  }

  /// Calls `end` after ten minutes.
  ///
  /// A test in which crashd waits for a hanging file system thus fails and does not hang.
  static func alarm(_ end: @escaping @Sendable () -> Void) throws -> MutexFlag {
    let isOver = MutexFlag()
    try Thread.start(named: "alarm") {
      for _ in 0..<6_000 where !isOver.isSet { usleep(100_000) }
      if isOver.set() { end() }
    }
    return isOver
  }
}
