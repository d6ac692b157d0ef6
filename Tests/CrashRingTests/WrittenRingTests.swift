import CShim
import CShimRing
import CrashReport
import CrashRing
import FoundationEssentials
import Glibc
import Testing

/// The reader meets the real writer; each test in a process of its own, since the writer starts once a process.
@Suite("A ring that the capture wrote")
struct WrittenRingTests {
  /// An exit status that says "the child got here and everything was right".
  private static let right: Int32 = 42

  /// Starts the capture with no crashd and leaves some notes.
  private static func start(spool: String) -> Bool {
    let isStarted = unsafe spool.withCString { spool in
      unsafe "/nonexistent/attach".withCString { socket in
        // All strings live for the call; the capture copies them.
        var configuration = unsafe cs_shim_configuration()
        unsafe configuration.socket_path = socket
        unsafe configuration.spool_directory = spool
        return unsafe cs_shim_start(&configuration, nil) == .CS_SHIM_OK
      }
    }
    // Literals, with their exact sizes.
    unsafe cs_shim_annotate("removed", 7, "soon", 4)
    unsafe cs_shim_annotate("removed", 7, "", 0)
    unsafe cs_shim_annotate("version", 7, "1.2.3", 5)
    for _ in 0..<200 { unsafe cs_shim_breadcrumb("step", 4) }
    unsafe cs_shim_breadcrumb("last", 4)
    return isStarted
  }

  @Test("a running process' ring has its identity, images, notes, and a torn record as a loss")
  func running() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      guard WrittenRingTests.start(spool: "/nonexistent/spool") else { Glibc.exit(1) }
      guard cs_testing_claim_and_abandon() else { Glibc.exit(2) }
      // The capture's own mapping: a whole ring, there until the process ends.
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

  @Test("a crash with no crashd is read from the spool, frames and images together")
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
    // A path without a NUL.
    let descriptor = unsafe open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    defer { close(descriptor) }
    let contents = try RingMapping(spoolFile: descriptor).contents()
    let record = try #require(contents.records.first)
    #expect(names.count == 1 && name == "\(contents.identity.ringID).ring")
    #expect(contents.records.count == 1)
    #expect(contents.losses == [:])
    #expect(record.signal == SIGABRT && record.code == -6 && record.senderPid == contents.identity.pid)
    #expect(record.sequence == 0 && record.generation == 1 && !record.isMinimal)
    #expect(record.registers.count == 17 && record.registers[16] == record.frames.first?.pc)
    #expect(record.frames.count > 5 && record.frames.count { !$0.isAsync } == record.frameTotal)
    #expect(record.frames.first?.trust == .context && record.frames.first?.isExact == true)
    #expect(record.frames.allSatisfy { $0.image != nil })
    // From the red zone below the stack pointer on.
    let stackPointer = record.registers[7]
    #expect(record.stackStart <= stackPointer && stackPointer < record.stackStart + UInt64(record.stack.count))
    #expect(contents.annotations == ["version": "1.2.3"] && contents.breadcrumbs.last?.text == "last")
  }
}
