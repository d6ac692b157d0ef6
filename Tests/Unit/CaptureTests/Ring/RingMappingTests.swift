import CShimRing
import CrashRing
import Glibc
import Testing

@Suite("RingMapping")
struct RingMappingTests {
  @Test("a sealed memfd is mapped and shows data that its writer adds later")
  func sealed() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    try file.write(TestRing())
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    #expect(try mapping.contents().identity == TestRing().contents().identity)

    let later = TestRing()
    later.addRecord(slot: 0, message: "later", stack: [1, 2, 3])
    try file.write(later)
    #expect(mapping.contents().records.map(\.message) == ["later"])
  }

  @Test("reading a ring allocates no unused pages and finds all used pages")
  func holes() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let whole = TestRing()
    whole.addRecord(slot: 0, message: "first", stack: [1, 2, 3])
    whole.addRecord(slot: 63, message: "last", stack: [4])
    try file.writePages(of: whole)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let before = try file.blocks()
    let contents = mapping.contents(usedBy: file.descriptor)
    #expect(contents.records.map(\.message) == ["first", "last"])
    #expect(contents.losses == [:])
    _ = mapping.observations(usedBy: file.descriptor)
    // Reading a used slot reads its whole record, and so allocates its five pages in this file. In the ring of a
    // process, the writer has already allocated them.
    #expect(try file.blocks() - before <= 2 * 5 * 4_096 / 512)
    // After the descriptor is closed, the mapping reads all pages, with the same result.
    #expect(mapping.contents().records.map(\.message) == ["first", "last"])
  }

  @Test("after two calls of keepPages(), pages that are read stay resident until the second letGoOfPages()")
  func keptPages() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let whole = TestRing()
    whole.addRecord(slot: 0, message: "first", stack: [1, 2, 3])
    try file.writePages(of: whole)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    _ = mapping.contents(usedBy: file.descriptor)
    #expect(try file.residentKiB() == 0)
    mapping.keepPages()
    mapping.keepPages()
    #expect(mapping.contents(usedBy: file.descriptor).records.map(\.message) == ["first"])
    mapping.letGoOfPages()
    #expect(try file.residentKiB() > 0)
    mapping.letGoOfPages()
    #expect(try file.residentKiB() == 0)
  }

  @Test("the mapping of a ring stays valid after its descriptor is closed")
  func closed() throws {
    let file = try TestFile.memory()
    try file.write(TestRing())
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    file.close()
    #expect(mapping.contents().identity.pid == 4711)
  }

  @Test("a memfd without seals is refused, and the error names the missing seals")
  func unsealed() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    try file.write(TestRing())
    #expect(throws: RingError.unsealed(missing: ["F_SEAL_SEAL", "F_SEAL_SHRINK", "F_SEAL_GROW"])) {
      try RingMapping(descriptor: file.descriptor)
    }
    try file.seal(TestFile.shrink | TestFile.grow)
    #expect(throws: RingError.unsealed(missing: ["F_SEAL_SEAL"])) {
      try RingMapping(descriptor: file.descriptor)
    }
  }

  @Test("a memfd whose size is not that of a ring is refused", arguments: [0, 4096, MemoryLayout<cs_ring>.size + 4096])
  func size(size: Int) throws {
    let file = try TestFile.memory()
    defer { file.close() }
    try file.resize(to: size)
    try file.seal()
    #expect(throws: RingError.size(found: size, expected: MemoryLayout<cs_ring>.size)) {
      try RingMapping(descriptor: file.descriptor)
    }
  }

  @Test("a memfd that holds no ring is refused")
  func noRing() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    try file.resize(to: MemoryLayout<cs_ring>.size)
    try file.seal()
    #expect(throws: RingError.magic(found: 0)) { try RingMapping(descriptor: file.descriptor) }
  }

  @Test("a descriptor of any kind other than a memfd is refused as a ring")
  func otherDescriptors() throws {
    #expect(throws: RingError.systemCall(name: "fcntl(F_GET_SEALS)", errno: EBADF)) {
      try RingMapping(descriptor: -1)
    }
    // Invariant: a NUL terminates the string literal.
    let null = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(null) }
    #expect(throws: RingError.self) { try RingMapping(descriptor: null) }
    #expect(throws: RingError.notARegularFile) { try RingMapping(spoolFile: null) }
    #expect(throws: RingError.systemCall(name: "fstat", errno: EBADF)) { try RingMapping(spoolFile: -1) }
  }

  @Test("a spool file is read once, and truncating it afterwards does not change what was read")
  func spool() throws {
    let file = try TestFile.disk()
    defer { file.close() }
    let ring = TestRing()
    ring.addRecord(slot: 1, message: "spooled")
    try file.write(ring)
    let mapping = try RingMapping(spoolFile: file.descriptor)
    try file.resize(to: 0)
    #expect(mapping.contents().records.map(\.message) == ["spooled"])
  }

  @Test("a spool file with holes is read as a ring with zeros")
  func sparse() throws {
    let file = try TestFile.disk()
    defer { file.close() }
    try file.write(TestRing(), bytes: 4096)
    try file.resize(to: MemoryLayout<cs_ring>.size)
    #expect(try RingMapping(spoolFile: file.descriptor).contents().identity.name == "server")
  }

  @Test("a spool file that is shorter than a ring is refused")
  func short() throws {
    let file = try TestFile.disk()
    defer { file.close() }
    try file.write(TestRing(), bytes: 8192)
    #expect(throws: RingError.size(found: 8192, expected: MemoryLayout<cs_ring>.size)) {
      try RingMapping(spoolFile: file.descriptor)
    }
  }
}
