internal import CShimRing
internal import CrashReport

/// Reads a ring: the memory that a process shares with crashd, in which it records its crashes.
///
/// The bytes of the ring are untrusted and can change during the read. For any contents of the ring, the reader does
/// not trap, and its run time is limited. The reader copies each part into private memory, checks the copy, and then
/// uses only the copy. Parts that cannot be read are counted in `RingContents.losses`.
@safe
public struct RingReader: @unchecked Sendable {
  // Sendable: the reader never writes to the memory, and every read expects that the process can change the memory at
  // any time.
  let shared: UnsafeRawBufferPointer
  /// The version, which is read only once, because the process could change it.
  let version: RingVersion
  /// The architecture of the process, which is read only once, because the process could change it.
  let architecture: Architecture
  /// The parts of the ring that the process has used.
  ///
  /// If the value is nil, the reader assumes that the process has used all parts.
  var used: UsedParts?

  /// Checks that the bytes are a ring with a known format version and a known architecture.
  ///
  /// - Parameter bytes: The bytes of the ring, aligned to 8 bytes. The memory must stay readable as long as the reader
  ///   exists.
  /// - Throws: `RingError`, which states why the ring is refused.
  public init(bytes: UnsafeRawBufferPointer) throws(RingError) {
    guard RingVersion.allCases.contains(where: { $0.bytes == bytes.count }) else {
      throw RingError.size(found: bytes.count, expected: RingVersion.current.bytes)
    }
    let address = UInt(bitPattern: bytes.baseAddress)
    precondition(
      address % UInt(MemoryLayout<UInt64>.alignment) == 0, "BUG: a ring that is not aligned to 8 bytes")
    unsafe shared = bytes

    let header = unsafe PrivateCopy<cs_ring_header>(of: bytes, at: 0)
    guard header[\.magic] == Self.magic else { throw RingError.magic(found: header[\.magic]) }
    guard let version = RingVersion(header[\.version]) else {
      throw RingError.version(found: header[\.version])
    }
    self.version = version
    guard let architecture = Architecture(ring: header[\.architecture]) else {
      throw RingError.architecture(found: header[\.architecture], supported: Architecture.supportedInRings)
    }
    self.architecture = architecture
    guard header[\.total_bytes] == UInt64(version.bytes) else {
      throw RingError.headerSize(found: header[\.total_bytes], expected: UInt64(version.bytes))
    }
    guard bytes.count == version.bytes else {
      throw RingError.size(found: bytes.count, expected: version.bytes)
    }
  }

  /// Reads the current contents of the ring.
  ///
  /// This method can be called repeatedly while the process runs. A record that is being written is counted as `torn`
  /// until it is committed. Therefore, the losses are final only after the process has ended.
  ///
  /// - Parameter hasEnded: Whether the process has ended. For a running process, the reader skips pending records,
  ///   because a handler of the program can still recover from the fault.
  /// - Returns: The contents, in private memory.
  public func contents(hasEnded: Bool = true) -> RingContents {
    var losses = Losses()
    // Ordering: read the records before the tables. A signal handler writes to the tables before it commits its record.
    // Therefore, the tables contain the images of each committed record.
    let records = records(hasEnded: hasEnded, losses: &losses)
    var rest = self
    // Ordering: copy the tables only now, after the records, for the same reason.
    rest.used?.readTables()
    return rest.contents(records, losses: losses)
  }

  private func contents(_ records: [RawRecord], losses: Losses) -> RingContents {
    var losses = losses
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    losses.add(.overwritten, header[\.slot_overwritten])
    losses.add(.noSlot, header[\.slot_lost])
    losses.add(.minimal, header[\.record_minimal])
    losses.add(.annotations, header[\.annotation_lost])

    // Ordering: the requests are read first, because the other threads can end requests while the ring is read.
    let requests = requests(header, losses: &losses)
    let images = images(total: header[\.image_total], losses: &losses)
    let table = ImageTable(images)
    let threads = threads(header, images: table, losses: &losses)
    let annotations = annotations(losses: &losses)
    let breadcrumbs = breadcrumbs(losses: &losses)
    var contents = RingContents(
      identity: identity(header), images: images, annotations: annotations, breadcrumbs: breadcrumbs,
      records: records.map { $0.decoded(images: table, architecture: architecture) }
        .sorted { ($0.sequence, $0.slot) < ($1.sequence, $1.slot) },
      threads: threads, requests: requests, memory: memory(header), losses: [:])
    contents.incidents = incidents(header, losses: &losses)
    contents.protectedClasses = protectedClasses(header, losses: &losses)
    contents.losses = losses.counts
    contents.survived = UInt64(header[\.survived])
    contents.containment = containment(header)
    contents.replacedHandlers = replacedHandlers(header, images: table)
    return contents
  }

  /// Reads the identity of the process, and the images that were loaded when the process started.
  public func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) {
    var losses = Losses()
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    return (identity(header), images(total: header[\.image_total], losses: &losses))
  }

  /// Reads only incidents and protected classes, and the images that contain their addresses.
  ///
  /// This method takes much less time than `contents()`, and is meant for running processes.
  public func observations() -> (incidents: [Incident], classes: [ProtectedClass], images: [RingContents.Image]) {
    var losses = Losses()
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    var reader = self
    reader.used?.readTables()
    let incidents = reader.incidents(header, losses: &losses)
    let images = incidents.isEmpty ? [] : images(total: header[\.image_total], losses: &losses)
    return (incidents, protectedClasses(header, losses: &losses), images)
  }

  /// Whether the process may have used the entry at `offset`.
  ///
  /// If the result is false, the first word of the entry is zero.
  func mayBeUsed(_ offset: Int) -> Bool { used?.contains(offset) ?? true }

  /// Reads which part of the program's memory the records contain.
  ///
  /// The process can change the mode at any time.
  public func memoryMode() -> RingContents.MemoryFacts.Mode {
    mode(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0))
  }

  /// Whether the process wakes crashd when it records incidents.
  ///
  /// The process can change this value at any time.
  public func announcesIncidents() -> Bool {
    unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)[\.announces_incidents] != 0
  }

  /// Whether crashd can send the process a message about the program's last crash (the last-crash notice).
  public func takesLastCrash() -> Bool {
    unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)[\.takes_last_crash] != 0
  }

  private func mode(_ header: PrivateCopy<cs_ring_header>) -> RingContents.MemoryFacts.Mode {
    switch cs_ring_memory_mode(rawValue: header[\.memory_mode]) {
    case .CS_RING_MEMORY_SCRUBBED: .scrubbed
    case .CS_RING_MEMORY_FULL: .full
    case .CS_RING_MEMORY_WITHHELD: .withheld
    default: .none
    }
  }

  private func memory(_ header: PrivateCopy<cs_ring_header>) -> RingContents.MemoryFacts {
    let mode = mode(header)
    let key = header[\.heap_key]
    let start = header[\.heap_start]
    var facts = RingContents.MemoryFacts(mode: mode, heapKey: key == 0 ? nil : key, heapStart: start == 0 ? nil : start)
    facts.isRestricted = header[\.is_restricted] != 0
    return facts
  }

  private func identity(_ header: PrivateCopy<cs_ring_header>) -> RingContents.Identity {
    RingContents.Identity(
      ringID: hexadecimal(header.bytes(\.ring_id, count: 16)), pid: header[\.pid], uid: header[\.uid],
      startTime_ns: header[\.start_time_ns], name: CleanText.line(header.text(zeroTerminated: \.name)),
      executable: Self.executable(CleanText.line(header.text(zeroTerminated: \.executable))),
      swiftVersion: Self.swiftVersion(header[\.swift_version]), architecture: architecture)
  }

  /// Returns a version number in the form of Swift's release names, such as `6.3.1`, or `6.3` for 6.3.0.
  ///
  /// Returns nil if the number is 0.
  private static func swiftVersion(_ number: UInt32) -> String? {
    if number == 0 { return nil }
    let (minor, patch) = (number >> 8 & 0xff, number & 0xff)
    return "\(number >> 16).\(minor)" + (patch == 0 ? "" : ".\(patch)")
  }

  /// Puts `labelMark` before a string that is not an absolute path, so that it can never be used as a path or as an
  /// option.
  private static func executable(_ text: String) -> String {
    text.isEmpty || text.hasPrefix("/") ? text : RingContents.Identity.labelMark + text
  }

  // The magic number: the bytes "CSRING" followed by zeros, as a little-endian number. The C constant CS_RING_MAGIC
  // cannot be used, because its definition uses UINT64_C, which Swift does not import.
  static let magic: UInt64 = 0x0000_474e_4952_5343
}

extension Architecture {
  /// Returns nil for a number that is not the number of an architecture in rings.
  fileprivate init?(ring number: UInt32) {
    switch cs_ring_architecture(rawValue: number) {
    case .CS_RING_ARCHITECTURE_X86_64: self = .x86_64
    case .CS_RING_ARCHITECTURE_AARCH64: self = .aarch64
    default: return nil
    }
  }

  /// The numbers of all architectures that crashd reads, for messages.
  fileprivate static var supportedInRings: String {
    let numbers: [cs_ring_architecture] = [.CS_RING_ARCHITECTURE_X86_64, .CS_RING_ARCHITECTURE_AARCH64]
    return zip(numbers, [x86_64, aarch64]).map { "\($0.rawValue) (\($1.rawValue))" }.joined(separator: " and ")
  }
}

extension UInt64 {
  /// Returns the difference, or 0 if it would be negative.
  package func subtractingOrZero(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
