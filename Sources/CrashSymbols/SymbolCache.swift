/// Answers "which function, file and line is this address" for one build of one image.
///
/// A cache is mapped and searched, never loaded: opening it reads the file once (for its checksum), an answer costs
/// a binary search. Keep a cache open as long as its image may crash. Safe to use from any thread.
///
/// The file is crashd's own, but no byte of it is trusted: a damaged or hostile one is refused, or gives no answer.
public struct SymbolCache: Sendable {
  private let file: MappedFile
  private let header: SymbolCacheHeader

  /// Opens the cache of a build.
  ///
  /// `buildID` is in lower-case hexadecimal digits; empty accepts any.
  public init(path: String, buildID: String) throws(SymbolCacheError) {
    do throws(MappedFile.Errno) {
      file = try MappedFile(path: path, limitBytes: SymbolCacheFormat.fileLimitBytes)
    } catch {
      throw .unreadable(path: path, errno: error.code)
    }
    header = try Self.checkedHeader(of: file, path: path)
    let found = Self.hexadecimal(header.buildID)
    guard buildID.isEmpty || buildID == found else {
      throw .wrongBuildID(path: path, expected: buildID, found: found)
    }
  }

  /// The image's build id in hexadecimal digits; empty when it has none.
  public var buildID: String { Self.hexadecimal(header.buildID) }

  /// Whether it knows lines and inlined functions; without, it has function names only.
  public var hasDebugInformation: Bool { header.flags.contains(.debugInformation) }

  /// Whether part of the debug information was unreadable, so that some code has no lines.
  public var isIncomplete: Bool { header.flags.contains(.incomplete) }

  /// The functions at a link address, innermost first; empty when unknown.
  ///
  /// A return address belongs to the instruction before it: pass it less 1.
  public func frames(at linkAddress: UInt64) -> [SourceFrame] {
    guard var index = locationIndex(at: linkAddress) else { return [] }
    var frames: [SourceFrame] = []
    while let (frame, parent) = frame(ofLocation: index) {
      frames.append(frame)
      if parent == SymbolCacheFormat.none { return frames }
      // Parents stand before their children; anything else would be a loop.
      guard parent < index, frames.count < SymbolCacheFormat.chainLimit else { return [] }
      index = parent
    }
    return []
  }
}

extension SymbolCache {
  /// The location of the last range that starts at or before the address.
  func locationIndex(at linkAddress: UInt64) -> UInt32? {
    guard linkAddress >= header.base, let offset = UInt32(exactly: linkAddress - header.base) else { return nil }
    var low = 0
    var high = Int(header.rangeCount)
    while low < high {
      let middle = (low + high) / 2
      guard let start: UInt32 = file.integer(at: header.rangesOffset + middle * SymbolCacheFormat.rangeBytes) else {
        return nil
      }
      if start <= offset { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let index: UInt32? = file.integer(at: header.rangesOffset + (low - 1) * SymbolCacheFormat.rangeBytes + 4)
    return index == SymbolCacheFormat.none ? nil : index
  }

  /// A frame and the index of the location that it was inlined into.
  private func frame(ofLocation index: UInt32) -> (SourceFrame, parent: UInt32)? {
    guard index < header.locationCount else { return nil }
    let offset = header.locationsOffset + Int(index) * SymbolCacheFormat.locationBytes
    guard
      let function: UInt32 = file.integer(at: offset), let path: UInt32 = file.integer(at: offset + 4),
      let line: UInt32 = file.integer(at: offset + 8), let column: UInt32 = file.integer(at: offset + 12),
      let parent: UInt32 = file.integer(at: offset + 16),
      function < header.functionCount
    else { return nil }
    let functionOffset = header.functionsOffset + Int(function) * SymbolCacheFormat.functionBytes
    guard
      let name: UInt32 = file.integer(at: functionOffset), let entry: UInt32 = file.integer(at: functionOffset + 4),
      let mangled = string(name), let pathText = string(path)
    else { return nil }
    let frame = SourceFrame(
      mangled: mangled, symbolAddress: entry == SymbolCacheFormat.none ? nil : header.base &+ UInt64(entry),
      file: path == 0 ? nil : pathText, line: line == 0 ? nil : Int(line), column: column == 0 ? nil : Int(column),
      isInline: parent != SymbolCacheFormat.none)
    return (frame, parent)
  }

  private func string(_ offset: UInt32) -> String? {
    let start = header.stringsOffset + Int(offset)
    return offset == 0 ? "" : file.text(at: start, end: header.fileBytes, limitBytes: SymbolCacheFormat.textLimitBytes)
  }

  private static func checkedHeader(
    of file: MappedFile, path: String
  ) throws(SymbolCacheError) -> SymbolCacheHeader {
    guard file.integer(at: 0) == SymbolCacheFormat.magic else { throw .notACache(path: path) }
    guard let version: UInt32 = file.integer(at: 4) else { throw .notACache(path: path) }
    guard version == SymbolCacheFormat.version else { throw .otherVersion(path: path, version: version) }
    guard let header = header(of: file) else { throw .damaged(path: path, problem: "its header is cut off") }
    guard header.fileBytes == file.count else { throw .damaged(path: path, problem: "its size is wrong") }
    guard file.checksum(from: SymbolCacheFormat.checksummedFrom) == header.checksum else {
      throw .damaged(path: path, problem: "its checksum is wrong")
    }
    return header
  }

  /// Nil when the file is too short or the build id too long.
  private static func header(of file: MappedFile) -> SymbolCacheHeader? {
    guard
      let checksum: UInt64 = file.integer(at: 8), let base: UInt64 = file.integer(at: 16),
      let rangeCount: UInt32 = file.integer(at: 24), let locationCount: UInt32 = file.integer(at: 28),
      let functionCount: UInt32 = file.integer(at: 32), let stringsBytes: UInt32 = file.integer(at: 36),
      let flags: UInt32 = file.integer(at: 40), let buildIDBytes: UInt32 = file.integer(at: 44),
      buildIDBytes <= UInt32(SymbolCacheFormat.buildIDLimitBytes),
      let buildID = file.copy(48..<48 + Int(buildIDBytes)), file.count >= SymbolCacheFormat.headerBytes
    else { return nil }
    return SymbolCacheHeader(
      checksum: checksum, base: base, rangeCount: rangeCount, locationCount: locationCount,
      functionCount: functionCount, stringsBytes: stringsBytes, flags: SymbolCacheFlags(rawValue: flags),
      buildID: buildID)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
