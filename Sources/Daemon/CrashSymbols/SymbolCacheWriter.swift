import Glibc

/// The tables of a symbol cache, in the form in which they are passed to `SymbolCacheWriter`.
///
/// `SymbolCacheFormat` defines the 32-bit words of each table row.
public struct SymbolCacheContents: Sendable {
  /// The link address to which the starts of ranges and the entries of functions are relative.
  public var base: UInt64
  /// The bytes of the image's build ID; empty if the image has none.
  public var buildID: [UInt8]
  /// The address ranges, sorted by their starts.
  ///
  /// Each range has two words: start and location.
  public var ranges: [UInt32]
  /// The locations.
  ///
  /// Each location has two words: one for the context, and one for line and column.
  public var locations: [UInt32]
  /// The contexts.
  ///
  /// Each context has four words: function, file, parent and line.
  public var contexts: [UInt32]
  /// The functions.
  ///
  /// Each function has four words: name, entry, and file and line of the declaration.
  public var functions: [UInt32]
  /// The strings that other tables refer to by their offsets.
  ///
  /// Each string ends with a zero byte.
  public var strings: [UInt8]
  /// Whether debug information was used to build the tables.
  public var hasDebugInformation: Bool
  /// Whether a part of the debug information could not be read.
  public var isIncomplete: Bool
  /// Whether the tables were built only for some addresses of the image.
  public var isPartial = false
  /// The file name of the separate debug file; empty if the image states none.
  public var debugLink = ""

  /// Creates the contents from complete tables.
  public init(
    base: UInt64, buildID: [UInt8], ranges: [UInt32], locations: [UInt32], contexts: [UInt32], functions: [UInt32],
    strings: [UInt8], hasDebugInformation: Bool = true, isIncomplete: Bool = false
  ) {
    self.base = base
    self.buildID = buildID
    self.ranges = ranges
    self.locations = locations
    self.contexts = contexts
    self.functions = functions
    self.strings = strings
    self.hasDebugInformation = hasDebugInformation
    self.isIncomplete = isIncomplete
  }
}

/// Writes a symbol cache to an open file.
public enum SymbolCacheWriter: Sendable {
  /// The reason why a cache could not be written.
  public enum Failure: Error, Sendable, Equatable {
    /// The tables exceed the maximum size of a cache file.
    ///
    /// The image's build then gets no symbol cache.
    case tooLarge
    /// The call of `write` failed with the given errno.
    case write(Int32)
  }

  /// Writes the cache at the current file position of the descriptor.
  ///
  /// The caller must rename the file to its final name when the file is complete.
  public static func write(_ contents: SymbolCacheContents, to descriptor: Int32) throws(Failure) {
    let index = RangeIndex(of: contents.ranges)
    var header = try header(of: contents, index)
    var file = header.encoded
    file.reserveCapacity(header.fileBytes)
    for words in [index.pages, index.locations, contents.locations, contents.contexts, contents.functions] {
      // Both the machine and the format are little-endian, so the words in memory can be written as bytes.
      unsafe words.withUnsafeBytes { unsafe file.append(contentsOf: $0) }
    }
    file.append(contentsOf: index.starts)
    file.append(contentsOf: contents.strings)
    if header.debugLink != 0 { file += Array(contents.debugLink.utf8) + [0] }
    header.checksum = unsafe file.withUnsafeBytes {
      // The file contains at least the header, which is longer than the part before `checksummedFrom`.
      unsafe XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: $0[SymbolCacheFormat.checksummedFrom...]))
    }
    file.replaceSubrange(0..<SymbolCacheFormat.headerBytes, with: header.encoded)
    try writeAll(file, to: descriptor)
  }

  private static func header(
    of contents: SymbolCacheContents, _ index: RangeIndex
  ) throws(Failure) -> SymbolCacheHeader {
    let limit = SymbolCacheFormat.fileLimitBytes
    guard
      contents.buildID.count <= SymbolCacheFormat.buildIDLimitBytes, contents.strings.count <= limit,
      contents.ranges.count <= limit, contents.locations.count <= limit, contents.contexts.count <= limit,
      contents.functions.count <= limit
    else { throw .tooLarge }
    var flags: SymbolCacheFlags = []
    if contents.hasDebugInformation { flags.insert(.debugInformation) }
    if contents.isIncomplete { flags.insert(.incomplete) }
    if contents.isPartial { flags.insert(.partial) }
    var header = SymbolCacheHeader(
      base: contents.base, firstPage: index.firstPage, pageCount: UInt32(index.pages.count),
      rangeCount: UInt32(index.locations.count), locationCount: UInt32(contents.locations.count / 2),
      contextCount: UInt32(contents.contexts.count / 4), functionCount: UInt32(contents.functions.count / 4),
      stringsBytes: UInt32(contents.strings.count), flags: flags, buildID: contents.buildID)
    // The file name of the debug file is stored after the other strings.
    let link = contents.debugLink.utf8.count
    if link > 0, link <= SymbolCacheFormat.textLimitBytes {
      header.debugLink = header.stringsBytes
      header.stringsBytes += UInt32(link + 1)
    }
    guard header.fileBytes <= limit else { throw .tooLarge }
    return header
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        // `written` is below the number of bytes, so the address is within the array, and write reads only the rest of
        // the array.
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

/// The sections of a cache that are needed for finding a range by its address.
struct RangeIndex {
  /// The number of the page in which the first range starts.
  private(set) var firstPage: UInt32 = 0
  /// For each page, the number of ranges that start before this page.
  ///
  /// The last item is the total number of ranges. The array is empty if there are no ranges.
  private(set) var pages: [UInt32] = []
  private(set) var locations: [UInt32] = []
  private(set) var starts: [UInt8] = []

  /// Creates the sections from ranges that are sorted by start.
  ///
  /// Each range has two words: start and location.
  init(of ranges: [UInt32]) {
    guard ranges.count >= 2 else { return }
    let count = ranges.count / 2
    firstPage = ranges[0] >> SymbolCacheFormat.pageBits
    let lastPage = ranges[2 * count - 2] >> SymbolCacheFormat.pageBits
    // If the ranges are not sorted, they get no index. In this case, look-ups in the cache return nothing.
    guard firstPage <= lastPage else { return }
    pages.reserveCapacity(Int(lastPage - firstPage) + 2)
    locations.reserveCapacity(count)
    starts.reserveCapacity(count)
    for index in 0..<count {
      let page = ranges[2 * index] >> SymbolCacheFormat.pageBits
      while firstPage + UInt32(pages.count) <= min(page, lastPage) { pages.append(UInt32(index)) }
      starts.append(UInt8(truncatingIfNeeded: ranges[2 * index] & SymbolCacheFormat.pageMask))
      locations.append(ranges[2 * index + 1])
    }
    pages.append(UInt32(count))
  }
}
