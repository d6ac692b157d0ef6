/// Maps the addresses of one build of an image to functions, files and lines.
///
/// A symbol cache is a file that crash-analyse builds from one image. The file is mapped, and is searched without being
/// copied. Opening a cache reads the whole file once, in order to verify its checksum. A lookup takes about 200
/// instructions. A cache should stay open while processes use the image. All methods can be called from any thread.
///
/// The file belongs to crashd, but its contents are untrusted, because they were derived from an untrusted image. With
/// a damaged or malicious file, opening fails or look-ups return nothing.
public struct SymbolCache: Sendable {
  let file: MappedFile
  let header: SymbolCacheHeader
  let sections: SymbolCacheSections

  /// Opens the symbol cache of a build.
  ///
  /// `buildID` consists of lower-case hexadecimal digits. If `buildID` is empty, the cache of any build is accepted.
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

  /// The build ID of the image, in hexadecimal digits; empty if the image has none.
  public var buildID: String { BuildID.text(header.buildID) }

  /// Whether the cache contains lines and inlined functions.
  ///
  /// If the value is false, the cache contains only function names.
  public var hasDebugInformation: Bool { header.flags.contains(.debugInformation) }

  /// Whether a part of the debug information could not be read when the cache was built.
  ///
  /// If so, some code has no lines.
  public var isIncomplete: Bool { header.flags.contains(.incomplete) }

  /// The file name of the separate debug file, as the image states it; nil if the image states none.
  ///
  /// The image is untrusted, so the caller must check the name before it uses the name in a path.
  public var debugLink: String? { header.debugLink == 0 ? nil : string(header.debugLink) }

  /// The size of the cache file in bytes.
  public var size: Int { file.count }

  /// Whether the cache was built only for some addresses of the image.
  ///
  /// A complete cache of the same image can contain more functions.
  public var isPartial: Bool { header.flags.contains(.partial) }

  /// Returns the functions at a link address, innermost first; empty if they are unknown.
  ///
  /// For a return address, the caller must subtract 1, because the call instruction is before the return address.
  public func frames(at linkAddress: UInt64) -> [SourceFrame] {
    var frames: [SourceFrame] = []
    let isWhole = forEachPlace(at: linkAddress) { place in
      guard let frame = frame(of: place) else { return false }
      frames.append(frame)
      return true
    }
    return isWhole ? frames : []
  }

  /// Converts a place (a function with numbers instead of strings) to a frame with strings.
  ///
  /// Returns nil if the strings of the place are damaged.
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
