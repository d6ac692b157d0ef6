/// Defines the layout of a symbol cache.
///
/// A cache is a file that belongs to one build ID. The file is written once; after this, it is only mapped and
/// searched.
///
/// All integers are little-endian, and have 32 bits unless stated otherwise. The following sections are stored after
/// the header without gaps, in this order:
///
/// | section   | item                            | meaning                                                         |
/// |-----------|---------------------------------|-----------------------------------------------------------------|
/// | header    | see ``SymbolCacheHeader``       | 128 bytes                                                       |
/// | pages     | number of ranges before a page  | a page is 128 bytes of code; the last item counts all ranges    |
/// | ranges    | location                        | sorted by address; a range ends where the next one starts       |
/// | locations | context, line and column        | 20 bits of line above 12 bits of column                         |
/// | contexts  | function, file, parent, line    | the part of a function in one file, and where it was inlined    |
/// | functions | name, entry, file, line         | entry: first byte, ``none`` if inlined; file, line: declaration |
/// | starts    | one byte for each range         | the offset of the range's start in its page                     |
/// | strings   | UTF-8, each ended by a zero byte | the first is empty; names are linkage names, files absolute paths |
///
/// Page numbers and the field `entry` are relative to the base address in the header. The fields `name` and `file` are
/// byte offsets in the section with the strings. The fields `location`, `context`, `function` and `parent` (the
/// location into which the code was inlined) are indexes in their sections, or ``none``. A parent is stored before its
/// children in its section. Therefore, a chain of parents always ends. The complete line number is the sum of the line
/// in a location and the line in its context. A line or column of 0 means that the line or column is unknown.
///
/// The layout keeps the file small. Two of three address ranges start in the same page as the range before, and many
/// locations have the same function, file and parent. If each range contained a complete address and each location
/// contained all fields, the file would be one and a half times as large.
enum SymbolCacheFormat {
  /// The magic number: the bytes `CSSY`, read as a little-endian integer.
  static let magic: UInt32 = 0x5953_5343
  /// The version of the layout.
  ///
  /// A change of the layout must increment the version. crashd rebuilds caches that have another version.
  static let version: UInt32 = 4
  static let none = UInt32.max

  static let headerBytes = 128
  static let pageBits: UInt32 = 7
  static let pageMask: UInt32 = 1 << pageBits - 1
  static let columnBits: UInt32 = 12
  static let locationBytes = 8
  static let contextBytes = 16
  static let functionBytes = 16
  /// The maximum length of a build ID.
  ///
  /// The maximum is larger than the build IDs that linkers create.
  ///
  /// For example, linkers create SHA-1 build IDs with 20 bytes.
  static let buildIDLimitBytes = 64
  /// The offset of the first byte that the checksum covers.
  ///
  /// The checksum itself is stored before this offset, so it does not cover itself.
  static let checksummedFrom = 16
  /// The maximum nesting depth of inlined calls that a reader follows.
  ///
  /// crash-analyse stores at most 200 levels.
  static let chainLimit = 256
  /// The maximum size of names and paths in bytes.
  ///
  /// Longer strings are truncated.
  static let textLimitBytes = 8192
  /// The maximum size of a cache file in bytes.
  ///
  /// The same number is the RLIMIT_FSIZE of the process that builds the cache.
  static let fileLimitBytes = 256 << 20
}

/// The header at the beginning of a cache file.
///
/// | offset | bytes | field                                            |
/// |--------|-------|--------------------------------------------------|
/// | 0      | 4     | magic                                            |
/// | 4      | 4     | version                                          |
/// | 8      | 8     | XXH64 of all bytes after this field              |
/// | 16     | 8     | base: link address of the image's first byte     |
/// | 24     | 4     | number of the first page, counted from the base  |
/// | 28     | 4     | number of items in the section pages             |
/// | 32     | 4     | number of ranges                                 |
/// | 36     | 4     | number of locations                              |
/// | 40     | 4     | number of contexts                               |
/// | 44     | 4     | number of functions                              |
/// | 48     | 4     | size of the strings in bytes                     |
/// | 52     | 4     | flags                                            |
/// | 56     | 4     | size of the build ID in bytes                    |
/// | 60     | 4     | debug file's name: offset in the strings, or 0   |
/// | 64     | 64    | build ID, followed by zeros                      |
struct SymbolCacheHeader: Equatable {
  var checksum: UInt64 = 0
  var base: UInt64
  var firstPage: UInt32
  var pageCount: UInt32
  var rangeCount: UInt32
  var locationCount: UInt32
  var contextCount: UInt32
  var functionCount: UInt32
  var stringsBytes: UInt32
  var flags: SymbolCacheFlags
  var debugLink: UInt32 = 0
  var buildID: [UInt8]

  var pagesOffset: Int { SymbolCacheFormat.headerBytes }
  var rangesOffset: Int { pagesOffset + Int(pageCount) * 4 }
  var locationsOffset: Int { rangesOffset + Int(rangeCount) * 4 }
  var contextsOffset: Int { locationsOffset + Int(locationCount) * SymbolCacheFormat.locationBytes }
  var functionsOffset: Int { contextsOffset + Int(contextCount) * SymbolCacheFormat.contextBytes }
  var startsOffset: Int { functionsOffset + Int(functionCount) * SymbolCacheFormat.functionBytes }
  var stringsOffset: Int { startsOffset + Int(rangeCount) }
  /// The size of the file.
  ///
  /// The sum cannot overflow an Int, because all counts have 32 bits.
  var fileBytes: Int { stringsOffset + Int(stringsBytes) }
}

/// The properties of a cache that are stored in its header.
struct SymbolCacheFlags: OptionSet {
  var rawValue: UInt32
  /// The cache was built from DWARF.
  ///
  /// Therefore, the cache contains lines and inlined functions in addition to function names.
  static let debugInformation = SymbolCacheFlags(rawValue: 1)
  /// A part of the DWARF could not be read, so some code has no lines.
  static let incomplete = SymbolCacheFlags(rawValue: 2)
  /// The cache was built for one crash.
  ///
  /// Therefore, the cache contains only the requested addresses and some code around them.
  static let partial = SymbolCacheFlags(rawValue: 4)
}

extension SymbolCacheHeader {
  /// The header as bytes.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(SymbolCacheFormat.headerBytes)
    func append(_ value: some FixedWidthInteger) {
      for shift in stride(from: 0, to: value.bitWidth, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: value >> shift))
      }
    }
    append(SymbolCacheFormat.magic)
    append(SymbolCacheFormat.version)
    append(checksum)
    append(base)
    for word in [firstPage, pageCount, rangeCount, locationCount, contextCount, functionCount, stringsBytes] {
      append(word)
    }
    append(flags.rawValue)
    append(UInt32(buildID.count))
    append(debugLink)
    bytes += buildID
    bytes += Array(repeating: 0, count: SymbolCacheFormat.headerBytes - bytes.count)
    return bytes
  }

  /// Reads the header of a cache file.
  ///
  /// Returns nil if the file is too short or its build ID is too long.
  init?(of file: MappedFile) {
    guard
      let checksum: UInt64 = file.integer(at: 8), let base: UInt64 = file.integer(at: 16),
      let firstPage: UInt32 = file.integer(at: 24), let pageCount: UInt32 = file.integer(at: 28),
      let rangeCount: UInt32 = file.integer(at: 32), let locationCount: UInt32 = file.integer(at: 36),
      let contextCount: UInt32 = file.integer(at: 40), let functionCount: UInt32 = file.integer(at: 44),
      let stringsBytes: UInt32 = file.integer(at: 48), let flags: UInt32 = file.integer(at: 52),
      let buildIDBytes: UInt32 = file.integer(at: 56), let debugLink: UInt32 = file.integer(at: 60),
      buildIDBytes <= UInt32(SymbolCacheFormat.buildIDLimitBytes),
      let buildID = file.copy(64..<64 + Int(buildIDBytes)), file.count >= SymbolCacheFormat.headerBytes
    else { return nil }
    self.init(
      checksum: checksum, base: base, firstPage: firstPage, pageCount: pageCount, rangeCount: rangeCount,
      locationCount: locationCount, contextCount: contextCount, functionCount: functionCount,
      stringsBytes: stringsBytes, flags: SymbolCacheFlags(rawValue: flags), debugLink: debugLink,
      buildID: buildID)
  }
}
