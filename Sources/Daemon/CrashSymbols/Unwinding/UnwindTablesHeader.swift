/// The header of a file with unwind tables.
///
/// The file contains the sections `.eh_frame_hdr` and `.eh_frame` of one build. A file consists of the following parts,
/// in this order, with sizes in bytes: `CSUNW1` and two zero bytes (8); the CRC-32C of all bytes after this field (4);
/// the length of the build ID (4); the link address and the size of each section (8 each); the build ID (64); the two
/// sections. All numbers are little-endian.
public struct UnwindTablesHeader: Sendable, Equatable {
  /// The position of a section in the image.
  public struct Section: Sendable, Equatable {
    /// The link address of the section.
    public var address: UInt64
    /// The size of the section in bytes.
    public var size: UInt64

    /// Creates a section from its parts.
    public init(address: UInt64, size: UInt64) {
      self.address = address
      self.size = size
    }
  }

  /// The size of the header in bytes.
  public static let size = 112
  /// The offset of the first byte that the checksum covers.
  public static let checkedFrom = 12
  /// The maximum size of a file with unwind tables in bytes.
  ///
  /// For example, the tables of a server program of 261 MB take 10 MB.
  public static let fileLimitBytes = 64 << 20

  static let magic = Array("CSUNW1\0\0".utf8)
  private static let buildIDLimit = 64

  /// The CRC-32C of all bytes that follow the checksum in the file.
  public var checksum: UInt32
  /// The bytes of the image's build ID; empty if the image has none.
  public var buildID: [UInt8]
  /// The position of the section `.eh_frame_hdr`.
  public var index: Section
  /// The position of the section `.eh_frame`.
  public var frames: Section

  /// Creates a header from its parts.
  public init(checksum: UInt32, buildID: [UInt8], index: Section, frames: Section) {
    self.checksum = checksum
    self.buildID = buildID
    self.index = index
    self.frames = frames
  }

  /// Parses a header.
  ///
  /// Returns nil if the header is invalid, or if the sections do not fit into `fileSize` bytes.
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

  /// The build ID in lower-case hexadecimal digits.
  public var buildIDText: String { BuildID.text(buildID) }

  /// The header as bytes.
  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(half: checksum)
    bytes.append(half: UInt32(truncatingIfNeeded: buildID.count))
    for word in [index.address, index.size, frames.address, frames.size] { bytes.append(word: word) }
    bytes += buildID.prefix(Self.buildIDLimit)
    return bytes + [UInt8](repeating: 0, count: Self.size - bytes.count)
  }
}
