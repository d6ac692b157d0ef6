import CShim
import CShimRing
import CrashReport
import CrashRing
import CrashShield
import CrashShieldGuards
import FoundationEssentials
import Glibc
import Testing

/// Reads rings that the shield itself wrote; other tests construct their rings.
///
/// Each test runs in its own process, because the writer can be started only once per process.
@Suite("A ring that the capture wrote")
struct WrittenRingTests {
  /// The exit status of a child in which all checks passed.
  private static let right: Int32 = 42

  /// Starts the shield without crashd, and records some annotations and breadcrumbs.
  private static func start(spool: String) -> Bool {
    let isStarted = unsafe spool.withCString { spool in
      unsafe "/dev/null/attach".withCString { socket in
        // Invariant: all strings are valid during the call, and the call copies them.
        var configuration = unsafe cs_shim_configuration()
        unsafe configuration.socket_path = socket
        unsafe configuration.spool_directory = spool
        return unsafe cs_shim_start(&configuration, nil) == .CS_SHIM_OK
      }
    }
    // Invariant: the passed sizes are the exact sizes of the literals.
    unsafe cs_shim_annotate("removed", 7, "soon", 4)
    unsafe cs_shim_annotate("removed", 7, "", 0)
    unsafe cs_shim_annotate("version", 7, "1.2.3", 5)
    for _ in 0..<200 { unsafe cs_shim_breadcrumb("step", 4) }
    unsafe cs_shim_breadcrumb("last", 4)
    return isStarted
  }

  @Test("a running process's ring has its identity, images and annotations; a torn record is counted as a loss")
  func running() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      guard WrittenRingTests.start(spool: "/dev/null/spool") else { Glibc.exit(1) }
      guard cs_testing_claim_and_abandon() else { Glibc.exit(2) }
      // Invariant: the shield's own mapping is a complete ring, and stays mapped until the process ends.
      let contents = try unsafe RingReader(
        bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
      ).contents()
      #expect(contents.identity.pid == getpid() && contents.identity.uid == getuid())
      #expect(contents.identity.ringID.count == 32 && contents.identity.startTime_ns > 0)
      #expect(contents.images.filter(\.isExecutable).map(\.path) == [contents.identity.executable])
      #expect(contents.images.contains { $0.path.contains("libc.so") && !$0.buildID.isEmpty })
      #expect(contents.annotations == ["version": "1.2.3"])
      #expect(contents.breadcrumbs.map(\.text) == [String](repeating: "step", count: 127) + ["last"])
      #expect(contents.records.isEmpty && contents.losses == ["torn": 1])

      let mapped = try RingMapping(descriptor: cs_testing_ring_descriptor()).contents()
      #expect(mapped.identity == contents.identity)
      Glibc.exit(WrittenRingTests.right)
    }
  }

  @Test("a resolved handle to a deallocated object is recorded in the ring as an incident, with the caller")
  func handle() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      guard WrittenRingTests.start(spool: "/dev/null/spool") else { Glibc.exit(1) }
      var victim: Victim? = Victim()
      let handle = victim.map { ShieldHandle($0) }
      victim = nil
      for _ in 0..<3 {
        if unsafe ShieldHandle.resolve(handle?.context, as: Victim.self) != nil { Glibc.exit(2) }
      }
      // Invariant: the shield's own mapping is a complete ring, and stays mapped until the process ends.
      let contents = try unsafe RingReader(
        bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
      ).contents()
      let incident = try #require(contents.incidents.first)
      #expect(contents.incidents.count == 1 && incident.count == 3 && incident.source == .quarantine)
      #expect(incident.kind == cs_ring_dangling.CS_RING_DANGLING_HANDLE.rawValue)
      #expect(incident.subject == "CaptureTests.Victim" && incident.record == nil)
      #expect(incident.useTid == gettid_() && incident.use.count >= 4)
      Glibc.exit(WrittenRingTests.right)
    }
  }

  @Test(
    "use-after-frees and the counters of the object's class are in the ring",
    .enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
  func dangling() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      // The test protects one class before the shield starts, and one class after it.
      try Shield.protect(Early.self)
      guard WrittenRingTests.start(spool: "/dev/null/spool") else { Glibc.exit(1) }
      try Shield.protect(Victim.self, policy: .absorb)
      let dead = unsafe deadVictim()
      for _ in 0..<3 { _ = unsafe dead._withUnsafeGuaranteedRef { $0.answer() } }
      unsafe dead.release()
      let contents = try unsafe RingReader(
        bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
      ).contents()

      #expect(contents.protectedClasses.map(\.name) == ["CaptureTests.Early", "CaptureTests.Victim"])
      let counted = try #require(contents.protectedClasses.last)
      #expect(counted.isProtected && counted.mode == .absorb && counted.limit == 50)
      #expect(counted.admitted == 1 && counted.hits == 4 && counted.evicted == 0)
      #expect(contents.losses.isEmpty)

      #expect(contents.incidents.allSatisfy { $0.subject == "CaptureTests.Victim" && $0.use.count >= 4 })
      let calls = contents.incidents.filter { $0.kind == cs_ring_dangling.CS_RING_DANGLING_CALL.rawValue }
      #expect(calls.map(\.count).reduce(0, +) == 3 && calls.allSatisfy { $0.method != nil && $0.mode == .absorb })
      let releases = contents.incidents.filter { $0.kind == cs_ring_dangling.CS_RING_DANGLING_OVER_RELEASE.rawValue }
      #expect(releases.count == 1 && releases.first?.count == 1)
      let record = try #require(calls.first?.record)
      #expect(record.stack.count >= 4 && record.tid > 0 && calls.first?.useTid == record.tid)
      let address = unsafe UInt64(UInt(bitPattern: dead.toOpaque()))
      #expect(record.address == address)
      let here = contents.images.filter(\.isExecutable)
      #expect(calls.allSatisfy { call in call.use.contains { pc in here.contains { $0.start <= pc && pc < $0.end } } })
      Glibc.exit(WrittenRingTests.right)
    }
  }

  @Test("a crash without crashd is read from the spool, with frames and images")
  func spooled() async throws {
    let spool = FileManager.default.temporaryDirectory.appending(path: "cs-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: spool) } }
    let directory = spool.path
    await #expect(processExitsWith: .signal(SIGABRT)) { [directory = directory as String] in
      guard WrittenRingTests.start(spool: directory) else { Glibc.exit(1) }
      abort()
    }

    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    let name = try #require(names.first { $0.hasSuffix(".ring") })
    // Invariant: the path contains no NUL.
    let descriptor = unsafe open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    defer { close(descriptor) }
    let contents = try RingMapping(spoolFile: descriptor).contents()
    let record = try #require(contents.records.first)
    #expect(names.count == 1 && name == "\(contents.identity.ringID).ring")
    #expect(contents.records.count == 1)
    #expect(contents.losses == [:])
    #expect(record.signal == SIGABRT && record.code == -6 && record.senderPid == contents.identity.pid)
    #expect(record.sequence == 0 && record.generation == 1 && !record.isMinimal)
    let architecture = contents.identity.architecture
    #expect(record.registers.count == architecture.registerCount)
    #expect(record.registers[architecture.programCounter] == record.frames.first?.pc)
    #expect(record.frames.count > 5 && record.frames.count { !$0.isAsync } == record.frameTotal)
    #expect(record.frames.first?.trust == .context && record.frames.first?.isExact == true)
    #expect(record.frames.allSatisfy { $0.image != nil })
    // The recorded stack starts with the red zone, which is below the stack pointer.
    let stackPointer = record.registers[architecture.stackPointer]
    #expect(record.stackStart <= stackPointer && stackPointer < record.stackStart + UInt64(record.stack.count))
    #expect(contents.annotations == ["version": "1.2.3"] && contents.breadcrumbs.last?.text == "last")
  }
}

class Early {}

/// The class whose objects the tests use after they are freed.
class Victim {
  final var number = 7
  @inline(never) func answer() -> Int { number }
}

/// The thread ID of this thread.
@_silgen_name("gettid")
private func gettid_() -> pid_t

nonisolated(unsafe) private var kept: [Victim] = []

@inline(never)
private func deadVictim() -> Unmanaged<Victim> {
  unsafe kept = [Victim()]
  let reference = unsafe Unmanaged.passUnretained(kept[0])
  unsafe kept.removeAll()
  return unsafe reference
}
