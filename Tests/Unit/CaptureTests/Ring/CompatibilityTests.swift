import CShimRing
import CrashReport
import FoundationEssentials
import Testing

@testable import CrashRing

/// Tests a ring and a hello (the first message to crashd) of an older library: commit 6ec4bb42, in `crash-maker
/// array-index` with a static Swift library.
///
/// This library wrote a ring of version 5, which the current crashd must also read. An older crashd refuses a ring of
/// version 6 (docs/decisions/0136-requests-in-flight.md).
@Suite("Compatibility of library and crashd")
struct CompatibilityTests {
  /// Returns the recorded ring.
  ///
  /// The file contains only the pages that are not zero, each of them after its offset in the ring.
  private func recordedRing() throws -> [UInt8] {
    let path = #filePath.dropLast("CompatibilityTests.swift".count) + "Recorded/ring-5.pages"
    let pages = Array(try Data(contentsOf: URL(fileURLWithPath: String(path))))
    var ring = [UInt8](repeating: 0, count: Self.ringBytes)
    for start in stride(from: 0, to: pages.count, by: 8 + 4_096) {
      let offset = pages[start..<start + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
      let page = pages[(start + 8)..<(start + 8 + 4_096)]
      ring.replaceSubrange(offset..<min(offset + 4_096, ring.count), with: page.prefix(ring.count - offset))
    }
    return ring
  }

  private static let ringBytes = 9_998_336

  @Test("crashd reads a ring of version 5 that an older library wrote")
  func olderLibrary() throws {
    let ring = try recordedRing()
    // Invariant: the bytes are valid during the closure, which is the only user of the reader.
    let contents = try unsafe ring.withUnsafeBytes { try unsafe RingReader(bytes: $0).contents() }
    #expect(contents.identity.name == "recorded" && contents.identity.executable == "/tmp/crash-maker")
    let record = try #require(contents.records.first)
    #expect(contents.records.count == 1 && record.signal == 4 && !record.isMinimal)
    #expect(record.frames.count > 5 && record.registers.count == 17)
    #expect(contents.images.map(\.path).contains("/lib/x86_64-linux-gnu/libc.so.6"))
    #expect(contents.losses.isEmpty && contents.requests == RingContents.Requests() && record.request == nil)
  }

  @Test("the library keeps the sizes and versions that an older crashd checks")
  func olderDaemon() {
    // A change of any of these values needs a new version, a new recorded ring, and a line in CHANGELOG.md.
    #expect(CS_RING_VERSION == 6 && MemoryLayout<cs_ring>.size == 12_095_488)
    #expect(CS_RING_EARLIER_VERSION == 5 && RingVersion.earlier.bytes == Self.ringBytes)
    #expect(CS_ATTACH_VERSION == 2 && MemoryLayout<cs_attach_hello>.size == 536)
  }

  @Test("the header of an older library's ring has its fields at the offsets of this version")
  func header() throws {
    let ring = try recordedRing()
    let header = unsafe ring.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_ring_header.self) }
    #expect(header.version == UInt32(CS_RING_EARLIER_VERSION) && header.total_bytes == UInt64(Self.ringBytes))
    #expect(header.pid > 0 && header.start_time_ns > 1_600_000_000_000_000_000)
  }
}
