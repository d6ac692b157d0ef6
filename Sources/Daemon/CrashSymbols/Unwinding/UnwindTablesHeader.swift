/// What stands at the start of an unwind file: of one build, the bytes of `.eh_frame_hdr` and then those of `.eh_frame`.
///
/// Form: the text `CSUNW1` and two zeros, the CRC-32C of everything behind it (4 bytes), the length of the build id (4),
/// link address and size of the two sections (8 each), the build id (64), the sections. Numbers are little-endian.
public struct UnwindTablesHeader: Sendable, Equatable {
  /// A section of the image.
  public struct Section: Sendable, Equatable {
    /// Its link address.
    public var address: UInt64
    /// How many bytes it has.
    public var size: UInt64

    /// Makes a section from its parts.
    public init(address: UInt64, size: UInt64) {
      self.address = address
      self.size = size
    }
  }

  /// How many bytes the header has.
  public static let size = 112
  /// Where the bytes begin that the checksum covers.
  public static let checkedFrom = 12
  /// A file is never larger: a server of 261 MB has tables of 10 MB.
  public static let fileLimitBytes = 64 << 20

  static let magic = Array("CSUNW1\0\0".utf8)
  private static let buildIDLimit = 64

  /// CRC-32C of what follows it.
  public var checksum: UInt32
  /// The image's build id; may be empty.
  public var buildID: [UInt8]
  /// `.eh_frame_hdr`.
  public var index: Section
  /// `.eh_frame`.
  public var frames: Section

  /// Makes a header from its parts.
  public init(checksum: UInt32, buildID: [UInt8], index: Section, frames: Section) {
    self.checksum = checksum
    self.buildID = buildID
    self.index = index
    self.frames = frames
  }

  /// Reads a header; nil when it is none, or says more than `fileSize` bytes can hold.
  public init?(_ bytes: [UInt8], fileSize: Int) {
    guard bytes.count >= Self.size, bytes.starts(with: Self.magic),
      (Self.size...Self.fileLimitBytes).contains(fileSize)
    else { return nil }
    var words = WordReader(bytes, from: Self.magic.count)
    guard let checksum = words.half(), let count = words.half(), count <= Self.buildIDLimit,
      let indexAddress = words.next(), let indexSize = words.next(), let framesAddress = words.next(),
      let framesSize = words.next(), let buildID = words.bytes(Int(count))
    else { return nil }
    let room = UInt64(fileSize - Self.size)
    guard indexSize <= room, framesSize == room - indexSize else { return nil }
    self.init(
      checksum: checksum, buildID: buildID, index: Section(address: indexAddress, size: indexSize),
      frames: Section(address: framesAddress, size: framesSize))
  }

  /// The build id in lower-case hexadecimal digits.
  public var buildIDText: String { BuildID.text(buildID) }

  /// The header as it stands in the file.
  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(half: checksum)
    bytes.append(half: UInt32(truncatingIfNeeded: buildID.count))
    for word in [index.address, index.size, frames.address, frames.size] { bytes.append(word: word) }
    bytes += buildID.prefix(Self.buildIDLimit)
    return bytes + [UInt8](repeating: 0, count: Self.size - bytes.count)
  }
}
