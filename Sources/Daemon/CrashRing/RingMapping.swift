internal import CShimRing
internal import CrashReport
internal import Glibc
internal import Synchronization

/// A ring of a process, mapped read-only, or of a spool file, read into memory.
///
/// The descriptor may be closed as soon as the initializer has returned. Reading needs no lock: any thread may.
public final class RingMapping: Sendable {
  private let memory: Memory
  private let isShared: Bool
  private let reader: RingReader
  /// Who keeps the pages until he has read all that he wants.
  private let keepers = Atomic(0)

  /// Maps the memfd of a running process.
  ///
  /// The seals are what makes this safe: without them the process could cut the file, and reading it would end the
  /// reader by SIGBUS.
  /// - Throws: `RingError` when it is no sealed memfd, or no ring.
  public init(descriptor: Int32) throws(RingError) {
    try Self.checkSeals(of: descriptor)
    // A memfd of huge pages could fault for want of one, but its size is a multiple of theirs, which the ring's is not.
    try Self.checkSize(of: descriptor)
    isShared = true
    memory = try Memory(
      protection: PROT_READ, flags: MAP_SHARED, descriptor: descriptor, call: "mmap of the ring")
    // The memory is unmapped in Memory's deinit, and the reader does not outlive self.
    reader = try unsafe RingReader(bytes: memory.bytes)
  }

  /// Reads a spool file, which somebody may still write or cut, into private memory.
  ///
  /// - Throws: `RingError` when it is no regular file, or no ring.
  public init(spoolFile descriptor: Int32) throws(RingError) {
    let status = try Self.status(of: descriptor)
    guard status.st_mode & S_IFMT == S_IFREG else { throw RingError.notARegularFile }
    try Self.checkSize(of: descriptor)
    isShared = false
    memory = try Memory(
      protection: PROT_READ | PROT_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS, descriptor: -1,
      call: "mmap for a spool file")
    try memory.fill(from: descriptor)
    // The memory is unmapped in Memory's deinit, and the reader does not outlive self.
    reader = try unsafe RingReader(bytes: memory.bytes)
  }

  /// Everything that the ring holds now.
  /// - Parameters:
  ///   - descriptor: The ring's, if there is one: then parts that were never used are not touched.
  ///   - hasEnded: Whether the process has ended (`RingReader.contents`).
  /// - Returns: It, in private memory.
  public func contents(usedBy descriptor: Int32? = nil, hasEnded: Bool = true) -> RingContents {
    defer { letGo() }
    return reader(usedBy: descriptor).contents(hasEnded: hasEnded)
  }

  /// Who it is, and its images.
  /// - Returns: They, in private memory.
  public func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) {
    defer { letGo() }
    return reader.introduction()
  }

  /// What its records keep of the program's memory, as the process says now.
  public func memoryMode() -> RingContents.MemoryFacts.Mode {
    defer { letGo() }
    return reader.memoryMode()
  }

  /// Whether the process wakes crashd for incidents, as it says now.
  public func announcesIncidents() -> Bool {
    defer { letGo() }
    return reader.announcesIncidents()
  }

  /// What the program's last self-test of its guards found; nil: there was none.
  public func guardSelfTest() -> GuardSelfTest? {
    defer { letGo() }
    return reader.guardSelfTest()
  }

  /// What tells one state of its records from another, at a fraction of the cost of `contents`.
  /// - Parameter descriptor: The ring's, if there is one: then parts that were never used are not touched.
  /// - Returns: It, of now.
  public func stamp(usedBy descriptor: Int32? = nil) -> RingStamp {
    defer { letGo() }
    return reader(usedBy: descriptor).stamp()
  }

  /// Only incidents and protected classes, with the images that their addresses lie in.
  /// - Parameter descriptor: The ring's, if there is one: then parts that were never used are not touched.
  /// - Returns: They, in private memory.
  public func observations(
    usedBy descriptor: Int32? = nil
  ) -> (incidents: [Incident], classes: [ProtectedClass], images: [RingContents.Image]) {
    defer { letGo() }
    return reader(usedBy: descriptor).observations()
  }

  private func reader(usedBy descriptor: Int32?) -> RingReader {
    var reader = reader
    if isShared { reader.used = descriptor.flatMap { UsedParts(descriptor: $0) } }
    return reader
  }

  /// Keeps pages that are read from now on for the next reading, until `letGoOfPages` has been called as often.
  ///
  /// To let go of them interrupts all processors. Any thread may keep them, any number of times.
  public func keepPages() { keepers.add(1, ordering: .relaxed) }

  /// Ends what `keepPages` has begun.
  public func letGoOfPages() {
    keepers.subtract(1, ordering: .relaxed)
    letGo()
  }

  /// The pages stay the process's; they do not count as ours until they are read again.
  ///
  /// Any thread may read meanwhile: its next access maps the page anew.
  private func letGo() {
    if isShared && keepers.load(ordering: .relaxed) == 0 { memory.letGo() }
  }

  private static func checkSeals(of descriptor: Int32) throws(RingError) {
    let seals = fcntl(descriptor, getSeals)
    if seals < 0 {
      // EINVAL: a file that knows no seals, thus no memfd.
      guard errno == EINVAL else { throw RingError.systemCall(name: "fcntl(F_GET_SEALS)", errno: errno) }
      throw RingError.unsealed(missing: wantedSeals.map(\.name))
    }
    let missing = wantedSeals.filter { seals & $0.bit == 0 }
    guard missing.isEmpty else { throw RingError.unsealed(missing: missing.map(\.name)) }
  }

  private static func checkSize(of descriptor: Int32) throws(RingError) {
    let found = Int(try status(of: descriptor).st_size)
    guard found == RingLayout.size else { throw RingError.size(found: found, expected: RingLayout.size) }
  }

  private static func status(of descriptor: Int32) throws(RingError) -> stat {
    var status = stat()
    // fstat fills the struct that it is given.
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw RingError.systemCall(name: "fstat", errno: errno)
    }
    return status
  }
}

// <linux/fcntl.h>; Swift's Glibc module does not show them.
private let getSeals: Int32 = 1034
private let wantedSeals: [(bit: Int32, name: String)] = [
  (0x1, "F_SEAL_SEAL"), (0x2, "F_SEAL_SHRINK"), (0x4, "F_SEAL_GROW"),
]

/// Mapped memory of one ring's size, unmapped at the end of its life.
@safe
private final class Memory: @unchecked Sendable {
  // Sendable: never changed after the initializers of RingMapping.
  let bytes: UnsafeRawBufferPointer

  init(protection: Int32, flags: Int32, descriptor: Int32, call: String) throws(RingError) {
    // No address is asked for, so that no other mapping is replaced.
    let start = unsafe mmap(nil, RingLayout.size, protection, flags, descriptor, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else {
      throw RingError.systemCall(name: call, errno: errno)
    }
    unsafe bytes = UnsafeRawBufferPointer(start: start, count: RingLayout.size)
  }

  deinit {
    // Mapped by init with just this size; nobody else holds the pointer any more.
    unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
  }

  /// Takes the pages of a shared mapping out of this process's page table.
  func letGo() {
    // Of a shared mapping this changes no byte.
    _ = unsafe madvise(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, MADV_DONTNEED)
  }

  /// Reads the file from its begin; each byte of ours is written at most once.
  func fill(from descriptor: Int32) throws(RingError) {
    var offset = 0
    while offset < RingLayout.size {
      // offset + count is the size of the mapping, which init made writable for this.
      let count = unsafe pread(
        descriptor, UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.advanced(by: offset),
        RingLayout.size - offset, off_t(offset))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw RingError.systemCall(name: "pread", errno: errno) }
      guard count > 0 else { throw RingError.size(found: offset, expected: RingLayout.size) }
      offset += count
    }
  }
}
