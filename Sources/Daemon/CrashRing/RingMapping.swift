internal import CShimRing
internal import CrashReport
internal import Glibc
internal import Synchronization

/// The ring of a process, mapped or copied into crashd's memory.
///
/// The bytes are either in a read-only mapping of a memfd or in a copy of a spool file. The caller is allowed to close
/// the descriptor as soon as the initializer has returned. Reading the ring from several threads needs no lock.
public final class RingMapping: Sendable {
  private let memory: Memory
  private let isShared: Bool
  private let reader: RingReader
  /// The number of callers of `keepPages` that have not called `letGoOfPages` yet.
  private let keepers = Atomic(0)

  /// Maps the memfd of a running process.
  ///
  /// The seals of the memfd make reading the mapping safe. Without the seals, the process could truncate the file, and
  /// a later read would end crashd with SIGBUS.
  /// - Throws: `RingError` if the descriptor is not a sealed memfd or does not contain a ring.
  public init(descriptor: Int32) throws(RingError) {
    try Self.checkSeals(of: descriptor)
    // Refuse a memfd of huge pages, because reading it could raise SIGBUS if no huge page is free. The size check does
    // this: the size of such a memfd is a multiple of the huge page size, and the size of a ring is not.
    let size = try Self.size(of: descriptor)
    isShared = true
    memory = try Memory(
      size: size, protection: PROT_READ, flags: MAP_SHARED, descriptor: descriptor, call: "mmap of the ring")
    // `reader` uses the memory only as long as `self` exists, and `self` owns the memory. The memory is unmapped only
    // in the deinit of `Memory`.
    reader = try unsafe RingReader(bytes: memory.bytes)
  }

  /// Reads a spool file into private memory.
  ///
  /// The file itself is not mapped, because its owner can still write to the file or truncate it.
  ///
  /// - Throws: `RingError` if the file is not a regular file or does not contain a ring.
  public init(spoolFile descriptor: Int32) throws(RingError) {
    let status = try Self.status(of: descriptor)
    guard status.st_mode & S_IFMT == S_IFREG else { throw RingError.notARegularFile }
    let size = try Self.size(of: descriptor)
    isShared = false
    memory = try Memory(
      size: size, protection: PROT_READ | PROT_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS, descriptor: -1,
      call: "mmap for a spool file")
    try memory.fill(from: descriptor)
    // `reader` uses the memory only as long as `self` exists, and `self` owns the memory. The memory is unmapped only
    // in the deinit of `Memory`.
    reader = try unsafe RingReader(bytes: memory.bytes)
  }

  /// Builds, in private memory, the ring that a record line describes.
  ///
  /// - Throws: `RingError` if the line does not contain a ring that this version can read.
  public init(_ line: RecordLine) throws(RingError) {
    isShared = false
    memory = try Memory(
      size: RingVersion.current.bytes, protection: PROT_READ | PROT_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS,
      descriptor: -1, call: "mmap for a record line")
    for piece in line.pieces { memory.put(piece) }
    // `reader` uses the memory only as long as `self` exists, and `self` owns the memory. The memory is unmapped only
    // in the deinit of `Memory`.
    reader = try unsafe RingReader(bytes: memory.bytes)
  }

  /// Reads the current contents of the ring.
  /// - Parameters:
  ///   - descriptor: The descriptor of the ring's file, if it is available. With the descriptor, the reader does not
  ///     touch unused parts of the ring.
  ///   - hasEnded: Whether the process has ended; see `RingReader.contents`.
  /// - Returns: The contents, in private memory.
  public func contents(usedBy descriptor: Int32? = nil, hasEnded: Bool = true) -> RingContents {
    defer { letGo() }
    return reader(usedBy: descriptor).contents(hasEnded: hasEnded)
  }

  /// Reads the identity of the process and its images.
  /// - Returns: The identity and the images, in private memory.
  public func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) {
    defer { letGo() }
    return reader.introduction()
  }

  /// Reads the annotations that the process read from its environment.
  ///
  /// The result can also contain the first ones that the program set.
  ///
  /// `descriptor` is the descriptor of the ring's file, if it is available; see `contents`.
  public func firstAnnotations(usedBy descriptor: Int32? = nil) -> [String: String] {
    defer { letGo() }
    return reader(usedBy: descriptor).firstAnnotations()
  }

  /// Reads which part of the program's memory the records contain.
  ///
  /// The process can change the mode at any time.
  public func memoryMode() -> RingContents.MemoryFacts.Mode {
    defer { letGo() }
    return reader.memoryMode()
  }

  /// Whether the process wakes crashd when it records incidents.
  ///
  /// The process can change this value at any time.
  public func announcesIncidents() -> Bool {
    defer { letGo() }
    return reader.announcesIncidents()
  }

  /// Whether crashd can send the process a message about the program's last crash (the last-crash notice).
  public func takesLastCrash() -> Bool {
    defer { letGo() }
    return reader.takesLastCrash()
  }

  /// Reads the numbers of requests since the process started.
  public func requestCounts() -> RingContents.RequestCounts {
    defer { letGo() }
    return reader.requestCounts()
  }

  /// Reads the figures for the health of the process's build.
  ///
  /// `descriptor` is the descriptor of the ring's file, if it is available; see `contents`.
  public func healthFigures(usedBy descriptor: Int32? = nil, withNames: Bool = true) -> RingContents.HealthFigures {
    defer { letGo() }
    return reader(usedBy: descriptor).healthFigures(withNames: withNames)
  }

  /// Reads the running and trapped requests with the given numbers.
  ///
  /// `descriptor` is the descriptor of the ring's file, if it is available; see `contents`.
  public func requests(numbered numbers: Set<UInt64>, usedBy descriptor: Int32? = nil) -> [RingContents.Request] {
    defer { letGo() }
    return reader(usedBy: descriptor).requests(numbered: numbers)
  }

  /// Reads the settings and the state of containment; nil if containment is off.
  public func containment() -> RingContents.Containment? {
    defer { letGo() }
    return reader.containment()
  }

  /// Reads the result of the program's last guard self-test.
  ///
  /// Returns nil if the program has not run the self-test.
  public func guardSelfTest() -> GuardSelfTest? {
    defer { letGo() }
    return reader.guardSelfTest()
  }

  /// Reads the stamp of the ring, which identifies the state of its records.
  ///
  /// The stamp changes whenever the records change. Reading the stamp takes much less time than reading `contents`.
  /// - Parameter descriptor: The descriptor of the ring's file, if it is available. With the descriptor, the reader
  ///   does not touch unused parts of the ring.
  /// - Returns: The current stamp.
  public func stamp(usedBy descriptor: Int32? = nil) -> RingStamp {
    defer { letGo() }
    return reader(usedBy: descriptor).stamp()
  }

  /// Reads only incidents and protected classes, and the images that contain their addresses.
  /// - Parameter descriptor: The descriptor of the ring's file, if it is available. With the descriptor, the reader
  ///   does not touch unused parts of the ring.
  /// - Returns: The incidents, classes and images, in private memory.
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

  /// Keeps the pages mapped after each read, until `letGoOfPages` has been called once for each call of this method.
  ///
  /// This saves time if several reads follow each other, because unmapping pages interrupts all processors. Any thread
  /// can call this method, any number of times.
  public func keepPages() { keepers.add(1, ordering: .relaxed) }

  /// Reverts one call of `keepPages`.
  public func letGoOfPages() {
    keepers.subtract(1, ordering: .relaxed)
    letGo()
  }

  /// Unmaps the pages of the ring from crashd's page table.
  ///
  /// The contents of the ring do not change. Until they are read again, the pages do not count as crashd's resident
  /// memory.
  ///
  /// Other threads can read the ring at the same time. The next access of such a thread maps the accessed page again.
  private func letGo() {
    if isShared && keepers.load(ordering: .relaxed) == 0 { memory.letGo() }
  }

  private static func checkSeals(of descriptor: Int32) throws(RingError) {
    let seals = fcntl(descriptor, getSeals)
    if seals < 0 {
      // EINVAL means that the file does not support seals, because it is not a memfd.
      guard errno == EINVAL else { throw RingError.systemCall(name: "fcntl(F_GET_SEALS)", errno: errno) }
      throw RingError.unsealed(missing: wantedSeals.map(\.name))
    }
    let missing = wantedSeals.filter { seals & $0.bit == 0 }
    guard missing.isEmpty else { throw RingError.unsealed(missing: missing.map(\.name)) }
  }

  /// Returns the size of the file; throws an error if no known version of the ring has this size.
  private static func size(of descriptor: Int32) throws(RingError) -> Int {
    let found = Int(try status(of: descriptor).st_size)
    guard RingVersion.allCases.contains(where: { $0.bytes == found }) else {
      throw RingError.size(found: found, expected: RingVersion.current.bytes)
    }
    return found
  }

  private static func status(of descriptor: Int32) throws(RingError) -> stat {
    var status = stat()
    // fstat writes one struct stat, to `status`.
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw RingError.systemCall(name: "fstat", errno: errno)
    }
    return status
  }
}

// The value of F_GET_SEALS in <linux/fcntl.h>, which Swift's Glibc module does not import.
private let getSeals: Int32 = 1034
private let wantedSeals: [(bit: Int32, name: String)] = [
  (0x1, "F_SEAL_SEAL"), (0x2, "F_SEAL_SHRINK"), (0x4, "F_SEAL_GROW"),
]

/// Memory with the size of one ring.
///
/// The deinit of this class unmaps the memory.
@safe
private final class Memory: @unchecked Sendable {
  // Sendable: only the initializers of RingMapping change the memory, before other threads can access it.
  let bytes: UnsafeRawBufferPointer

  init(size: Int, protection: Int32, flags: Int32, descriptor: Int32, call: String) throws(RingError) {
    // The call requests no fixed address, so mmap does not replace an existing mapping.
    let start = unsafe mmap(nil, size, protection, flags, descriptor, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else {
      throw RingError.systemCall(name: call, errno: errno)
    }
    unsafe bytes = UnsafeRawBufferPointer(start: start, count: size)
  }

  deinit {
    // The initializer mapped the memory at this address with this size, and no code uses the pointer after the deinit.
    unsafe munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
  }

  /// Removes the pages of a shared mapping from this process's page table.
  func letGo() {
    // madvise receives exactly the mapped range. MADV_DONTNEED does not change the bytes of a shared mapping.
    _ = unsafe madvise(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, MADV_DONTNEED)
  }

  /// Copies a piece of a record line into the private memory.
  func put(_ piece: RecordLine.Piece) {
    precondition(
      unsafe piece.offset >= 0 && piece.offset <= bytes.count - piece.bytes.count, "BUG: a piece outside of the ring")
    let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.advanced(by: piece.offset)
    // The line above has checked that the piece lies inside the mapping, which the initializer made writable.
    unsafe piece.bytes.withUnsafeBytes { source in
      if let start = unsafe start, let from = source.baseAddress {
        unsafe start.copyMemory(from: from, byteCount: source.count)
      }
    }
  }

  /// Reads the whole file into the private memory.
  func fill(from descriptor: Int32) throws(RingError) {
    var offset = 0
    // Reading the size of the mapping does not access its memory.
    let size = unsafe bytes.count
    while offset < size {
      // The target range is within the mapping, because offset + count is at most the size of the mapping. The
      // initializer made the mapping writable.
      let count = unsafe pread(
        descriptor, UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.advanced(by: offset),
        size - offset, off_t(offset))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw RingError.systemCall(name: "pread", errno: errno) }
      guard count > 0 else { throw RingError.size(found: offset, expected: size) }
      offset += count
    }
  }
}
