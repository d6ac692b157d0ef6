/// Builds the bytes of a minidump.
///
/// The file consists of a header, a directory of streams, and the streams. Each stream is followed by the data that the
/// stream refers to. All numbers are little-endian.
struct MinidumpFile {
  /// The structure `MINIDUMP_LOCATION_DESCRIPTOR`.
  struct Location {
    var size: UInt32
    var offset: UInt32
  }

  /// The enumeration `MINIDUMP_STREAM_TYPE`.
  enum Stream: UInt32 {
    case threads = 3
    case modules = 4
    case memory = 5
    case exception = 6
    case systemInfo = 7
    case miscInfo = 15
    /// The stream type `MD_LINUX_CMD_LINE`, which Breakpad defines.
    case linuxCommandLine = 0x4767_0006
  }

  private static let headerBytes = 32
  private static let entryBytes = 12

  private(set) var bytes: [UInt8] = []
  private var streamCount = 0
  /// The data to which the current stream refers.
  ///
  /// The data is written after the stream, because the data's offset is known only when the stream is complete.
  private var pending: [(at: Int, bytes: [UInt8], isString: Bool)] = []

  /// Creates a file with a directory of `streamCount` streams.
  init(streamCount: Int, time: UInt32) {
    // The first number is MINIDUMP_SIGNATURE ("MDMP"). The second number is MINIDUMP_VERSION.
    append(UInt32(0x504d_444d))
    append(UInt32(0xa793))
    append(UInt32(streamCount))
    append(UInt32(Self.headerBytes))
    append(UInt32(0))
    append(time)
    append(UInt64(0))
    append(zeros: streamCount * Self.entryBytes)
  }

  /// Appends bytes that are not in a stream.
  mutating func add(_ new: [UInt8]) -> Location {
    align()
    let location = Location(size: UInt32(clamping: new.count), offset: UInt32(clamping: bytes.count))
    bytes += new
    return location
  }

  /// Appends a stream, and then the data that the stream refers to.
  mutating func addStream(_ kind: Stream, _ write: (inout MinidumpFile) -> Void) {
    align()
    let start = bytes.count
    write(&self)
    let entry = Self.headerBytes + streamCount * Self.entryBytes
    set(kind.rawValue, at: entry)
    set(UInt32(clamping: bytes.count - start), at: entry + 4)
    set(UInt32(clamping: start), at: entry + 8)
    streamCount += 1
    for piece in pending {
      let location = add(piece.bytes)
      if piece.isString {
        set(location.offset, at: piece.at)
      } else {
        set(location.size, at: piece.at)
        set(location.offset, at: piece.at + 4)
      }
    }
    pending = []
  }

  /// Adds a `MINIDUMP_STRING` that will be written after the stream.
  ///
  /// Precondition: after this call, the caller first appends the returned placeholder to the stream. The string's
  /// offset later replaces the placeholder.
  mutating func reserveString(_ text: String) -> UInt32 {
    let units = Array(text.utf16)
    var string = MinidumpFile.empty
    string.append(UInt32(clamping: units.count * 2))
    for unit in units { string.append(unit) }
    string.append(UInt16(0))
    pending.append((bytes.count, string.bytes, true))
    return 0
  }

  /// Adds bytes that will be written after the stream.
  ///
  /// Precondition: after this call, the caller first appends the returned placeholder to the stream. The location of
  /// the bytes later replaces the placeholder.
  mutating func reserve(_ new: [UInt8]) -> Location {
    pending.append((bytes.count, new, false))
    return Location(size: 0, offset: 0)
  }

  mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  mutating func append(_ new: [UInt8]) { bytes += new }

  mutating func append(_ location: Location) {
    append(location.size)
    append(location.offset)
  }

  mutating func append(zeros count: Int) { bytes += [UInt8](repeating: 0, count: count) }

  private static var empty: MinidumpFile {
    var file = MinidumpFile(streamCount: 0, time: 0)
    file.bytes = []
    return file
  }

  private mutating func align() { append(zeros: (8 - bytes.count % 8) % 8) }

  private mutating func set(_ value: UInt32, at offset: Int) {
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
  }
}
