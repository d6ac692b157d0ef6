/// Maps addresses to function, file and line for one build of one image.
///
/// A cache is mapped and searched, never loaded: opening it reads the file once (for its checksum), an answer costs
/// some 200 instructions. Keep a cache open as long as its image may crash. Safe from any thread.
///
/// The file is crashd's own, but no byte of it is trusted: a damaged or hostile one is refused, or gives no answer.
public struct SymbolCache: Sendable {
  let file: MappedFile
  let header: SymbolCacheHeader
  let sections: SymbolCacheSections

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
    guard let sections = SymbolCacheSections(of: header, in: file) else {
      throw .damaged(path: path, problem: "its size is wrong")
    }
    self.sections = sections
    let found = BuildID.text(header.buildID)
    guard buildID.isEmpty || buildID == found else {
      throw .wrongBuildID(path: path, expected: buildID, found: found)
    }
  }

  /// The image's build id in hexadecimal digits; empty when it has none.
  public var buildID: String { BuildID.text(header.buildID) }

  /// Whether it knows lines and inlined functions; without, it has function names only.
  public var hasDebugInformation: Bool { header.flags.contains(.debugInformation) }

  /// Whether part of the debug information was unreadable, so that some code has no lines.
  public var isIncomplete: Bool { header.flags.contains(.incomplete) }

  /// The name of the file with the debug information, from the image; nil when it has none.
  ///
  /// The image chose it: check it before it becomes part of a path.
  public var debugLink: String? { header.debugLink == 0 ? nil : string(header.debugLink) }

  /// Bytes of the file.
  public var size: Int { file.count }

  /// Whether it was built for some addresses only: a whole cache may have more.
  public var isPartial: Bool { header.flags.contains(.partial) }

  /// The functions at a link address, innermost first; empty when unknown.
  ///
  /// A return address belongs to the instruction before it: subtract 1.
  public func frames(at linkAddress: UInt64) -> [SourceFrame] {
    var frames: [SourceFrame] = []
    let isWhole = forEachPlace(at: linkAddress) { place in
      guard let frame = frame(of: place) else { return false }
      frames.append(frame)
      return true
    }
    return isWhole ? frames : []
  }

  /// Reads the texts of a place; nil when the cache is damaged there.
  func frame(of place: SymbolCachePlace) -> SourceFrame? {
    guard let mangled = string(place.name), let path = string(place.file) else { return nil }
    var frame = SourceFrame(
      mangled: mangled, symbolAddress: place.entry == SymbolCacheFormat.none ? nil : header.base &+ UInt64(place.entry),
      file: place.file == 0 ? nil : path, line: place.line == 0 ? nil : Int(place.line),
      column: place.column == 0 ? nil : Int(place.column), isInline: place.isInline)
    if place.declarationFile != 0, place.declarationLine != 0, let path = string(place.declarationFile) {
      frame.declaration = SourceFrame.Declaration(file: path, line: Int(place.declarationLine))
    }
    return frame
  }

  func string(_ offset: UInt32) -> String? {
    let start = header.stringsOffset + Int(offset)
    return offset == 0 ? "" : file.text(at: start, end: file.count, limitBytes: SymbolCacheFormat.textLimitBytes)
  }

  private static func checkedHeader(
    of file: MappedFile, path: String
  ) throws(SymbolCacheError) -> SymbolCacheHeader {
    guard file.integer(at: 0) == SymbolCacheFormat.magic else { throw .notACache(path: path) }
    guard let version: UInt32 = file.integer(at: 4) else { throw .notACache(path: path) }
    guard version == SymbolCacheFormat.version else { throw .otherVersion(path: path, version: version) }
    guard let header = SymbolCacheHeader(of: file) else {
      throw .damaged(path: path, problem: "its header is cut off")
    }
    guard header.fileBytes == file.count else { throw .damaged(path: path, problem: "its size is wrong") }
    guard file.checksum(from: SymbolCacheFormat.checksummedFrom) == header.checksum else {
      throw .damaged(path: path, problem: "its checksum is wrong")
    }
    return header
  }
}
