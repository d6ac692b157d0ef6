/// The layout of a symbol cache: one file per build id, made once, then only mapped and searched.
///
/// All integers are little-endian, 32 bits wide unless said. Sections follow the header without gaps, in this order:
///
/// | section   | item                                              | meaning                                        |
/// |-----------|---------------------------------------------------|------------------------------------------------|
/// | header    | see ``SymbolCacheHeader``                         | 112 bytes                                      |
/// | ranges    | start, location                                   | sorted by start; one ends where the next starts |
/// | locations | function, file, line, column, parent              | a place, and the place it was inlined into     |
/// | functions | name, entry                                       | entry is ``none`` for inlined functions        |
/// | strings   | UTF-8, each ended by a zero byte; the first empty | names are linkage names, files absolute paths  |
///
/// `start` and `entry` count from the header's base; `name` and `file` are byte offsets into the strings; `location`,
/// `function` and `parent` are indexes, or ``none``. A parent stands before its children, so every chain ends.
/// A `line` or `column` of 0 is unknown.
enum SymbolCacheFormat {
  /// `CSSY`, read as a little-endian integer.
  static let magic: UInt32 = 0x5953_5343
  /// Raised by every change of the layout; crashd rebuilds caches of another version.
  static let version: UInt32 = 1
  static let none = UInt32.max

  static let headerBytes = 112
  static let rangeBytes = 8
  static let locationBytes = 20
  static let functionBytes = 8
  /// Longer than any linker's: SHA-1 has 20.
  static let buildIDLimitBytes = 64
  /// The checksum covers everything after itself.
  static let checksummedFrom = 16
  /// Inlined calls in one another; the builder follows no more than 200.
  static let chainLimit = 256
  /// Of a longer name or path no more is read.
  static let textLimitBytes = 8192
  /// What the builder's RLIMIT_FSIZE allows, too.
  static let fileLimitBytes = 256 << 20
}

/// The first bytes of a symbol cache.
///
/// | offset | bytes | field                                        |
/// |--------|-------|----------------------------------------------|
/// | 0      | 4     | magic                                        |
/// | 4      | 4     | version                                      |
/// | 8      | 8     | XXH64 of everything after it                 |
/// | 16     | 8     | base: link address of the image's first byte |
/// | 24     | 4     | number of ranges                             |
/// | 28     | 4     | number of locations                          |
/// | 32     | 4     | number of functions                          |
/// | 36     | 4     | bytes of strings                             |
/// | 40     | 4     | flags                                        |
/// | 44     | 4     | bytes of the build id                        |
/// | 48     | 64    | build id, zeros after it                     |
struct SymbolCacheHeader: Equatable {
  var checksum: UInt64 = 0
  var base: UInt64
  var rangeCount: UInt32
  var locationCount: UInt32
  var functionCount: UInt32
  var stringsBytes: UInt32
  var flags: SymbolCacheFlags
  var buildID: [UInt8]

  var rangesOffset: Int { SymbolCacheFormat.headerBytes }
  var locationsOffset: Int { rangesOffset + Int(rangeCount) * SymbolCacheFormat.rangeBytes }
  var functionsOffset: Int { locationsOffset + Int(locationCount) * SymbolCacheFormat.locationBytes }
  var stringsOffset: Int { functionsOffset + Int(functionCount) * SymbolCacheFormat.functionBytes }
  /// Counts of 32 bits cannot overflow it.
  var fileBytes: Int { stringsOffset + Int(stringsBytes) }
}

/// What a cache's header says about its contents.
struct SymbolCacheFlags: OptionSet {
  var rawValue: UInt32
  /// Made from DWARF: it knows lines and inlined functions, not only names.
  static let debugInformation = SymbolCacheFlags(rawValue: 1)
  /// Part of the DWARF was unreadable, so that some code has no lines.
  static let incomplete = SymbolCacheFlags(rawValue: 2)
}

extension SymbolCacheHeader {
  /// The header as it stands in the file.
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
    for count in [rangeCount, locationCount, functionCount, stringsBytes, flags.rawValue] { append(count) }
    append(UInt32(buildID.count))
    bytes += buildID
    bytes += Array(repeating: 0, count: SymbolCacheFormat.headerBytes - bytes.count)
    return bytes
  }
}
