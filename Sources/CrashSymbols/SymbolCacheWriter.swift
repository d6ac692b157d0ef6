import Glibc

/// The tables of a symbol cache before they are written; `SymbolCacheFormat` says what the words mean.
public struct SymbolCacheContents: Sendable {
  /// Link address that starts and entries count from.
  public var base: UInt64
  /// The image's build id; empty when it has none.
  public var buildID: [UInt8]
  /// Two words each: start, location.
  public var ranges: [UInt32]
  /// Five words each: function, file, line, column, parent.
  public var locations: [UInt32]
  /// Two words each: name, entry.
  public var functions: [UInt32]
  /// Each ended by a zero byte.
  public var strings: [UInt8]
  /// Whether it was made from debug information.
  public var hasDebugInformation: Bool
  /// Whether some of the debug information was unreadable.
  public var isIncomplete: Bool

  /// Makes the contents from the finished tables.
  public init(
    base: UInt64, buildID: [UInt8], ranges: [UInt32], locations: [UInt32], functions: [UInt32], strings: [UInt8],
    hasDebugInformation: Bool = true, isIncomplete: Bool = false
  ) {
    self.base = base
    self.buildID = buildID
    self.ranges = ranges
    self.locations = locations
    self.functions = functions
    self.strings = strings
    self.hasDebugInformation = hasDebugInformation
    self.isIncomplete = isIncomplete
  }
}

/// Writes a symbol cache into an open file.
public enum SymbolCacheWriter: Sendable {
  /// Why a cache could not be written.
  public enum Failure: Error, Sendable, Equatable {
    /// The tables exceed what a cache file may hold; there is nothing to do but to go without one.
    case tooLarge
    /// `write` failed with this errno.
    case write(Int32)
  }

  /// Writes from the descriptor's present position on.
  ///
  /// The caller gives the file its name once it is whole.
  public static func write(_ contents: SymbolCacheContents, to descriptor: Int32) throws(Failure) {
    var header = try header(of: contents)
    var file = header.encoded
    file.reserveCapacity(header.fileBytes)
    for words in [contents.ranges, contents.locations, contents.functions] {
      // The machine is little-endian, as the format is: the words are the bytes.
      unsafe words.withUnsafeBytes { unsafe file.append(contentsOf: $0) }
    }
    file.append(contentsOf: contents.strings)
    header.checksum = unsafe file.withUnsafeBytes {
      // The header alone is longer than what the checksum leaves out.
      unsafe XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: $0[SymbolCacheFormat.checksummedFrom...]))
    }
    file.replaceSubrange(0..<SymbolCacheFormat.headerBytes, with: header.encoded)
    try writeAll(file, to: descriptor)
  }

  private static func header(of contents: SymbolCacheContents) throws(Failure) -> SymbolCacheHeader {
    let limit = SymbolCacheFormat.fileLimitBytes
    guard
      contents.buildID.count <= SymbolCacheFormat.buildIDLimitBytes, contents.strings.count <= limit,
      contents.ranges.count <= limit, contents.locations.count <= limit, contents.functions.count <= limit
    else { throw .tooLarge }
    var flags: SymbolCacheFlags = []
    if contents.hasDebugInformation { flags.insert(.debugInformation) }
    if contents.isIncomplete { flags.insert(.incomplete) }
    let header = SymbolCacheHeader(
      base: contents.base, rangeCount: UInt32(contents.ranges.count / 2),
      locationCount: UInt32(contents.locations.count / 5), functionCount: UInt32(contents.functions.count / 2),
      stringsBytes: UInt32(contents.strings.count), flags: flags, buildID: contents.buildID)
    guard header.fileBytes <= limit else { throw .tooLarge }
    return header
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        // `written` is below the count, so the address lies in the array.
        unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw .write(errno)
      }
      written += count
    }
  }
}
