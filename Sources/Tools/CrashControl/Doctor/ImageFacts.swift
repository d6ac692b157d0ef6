import CrashSymbols
import Glibc

/// The properties of an ELF file that determine how complete crash reports are: build id, symbols and unwind tables.
///
/// The file is untrusted input. Only a regular file is opened, and every read is bounded.
struct ImageFacts {
  private var buildID: String?
  private var sections: Set<String>
  /// The name of the debug file, from the section `.gnu_debuglink` that `strip` writes.
  private var debugLink: String?
  /// The build id of the file.
  ///
  /// The id is read from the section `.note.gnu.build-id`, because the segments of a debug file can be empty.
  private var notedID: String?

  private static let sectionLimit = 4096
  private static let nameLimitBytes = 1 << 20
  private static let contentLimitBytes: UInt64 = 4096

  /// Fails if the file is not readable, or is not a little-endian 64-bit ELF file.
  init?(path: String) {
    var status = stat()
    // Check the file type before opening the file, because opening a device can have side effects. stat also follows
    // the links in /proc. Invariant: stat fills in the structure.
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard let header = ImageBuildID.bytes(of: file, at: 0, count: 64),
      header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1])
    else { return nil }
    buildID = ImageBuildID.read(path)
    let found = Self.sections(of: file, header)
    sections = Set(found.keys)
    debugLink = Self.content(of: found[".gnu_debuglink"], in: file).map {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    // The note begins with 16 bytes: two sizes and the type with four bytes each, then "GNU" and a NUL byte.
    notedID = Self.content(of: found[".note.gnu.build-id"], in: file).map { BuildID.text($0.dropFirst(16)) }
  }

  private typealias Place = (offset: UInt64, count: UInt64)

  /// Returns the content of a small section.
  private static func content(of place: Place?, in file: Int32) -> [UInt8]? {
    guard let place, place.count <= contentLimitBytes else { return nil }
    return ImageBuildID.bytes(of: file, at: place.offset, count: Int(place.count))
  }

  private static func sections(of file: Int32, _ header: [UInt8]) -> [String: Place] {
    let (start, size) = (ImageBuildID.number(header, 40, 8), ImageBuildID.number(header, 58, 2))
    let (count, names) = (ImageBuildID.number(header, 60, 2), ImageBuildID.number(header, 62, 2))
    guard size == 64, count <= sectionLimit, names < count,
      let table = ImageBuildID.bytes(of: file, at: start, count: Int(count * size))
    else { return [:] }
    let (offset, length) = (
      ImageBuildID.number(table, Int(names) * 64 + 24, 8), ImageBuildID.number(table, Int(names) * 64 + 32, 8)
    )
    guard length <= nameLimitBytes, let text = ImageBuildID.bytes(of: file, at: offset, count: Int(length)) else {
      return [:]
    }
    var sections: [String: Place] = [:]
    for index in 0..<Int(count) {
      let place = Int(ImageBuildID.number(table, index * 64, 4))
      guard place < text.count else { continue }
      let name = String(decoding: text[place...].prefix { $0 != 0 }, as: UTF8.self)
      sections[name] = (ImageBuildID.number(table, index * 64 + 24, 8), ImageBuildID.number(table, index * 64 + 32, 8))
    }
    return sections
  }

  /// Returns the findings about this file.
  ///
  /// `name` is the file's path, or a shorter name if the path is unknown. Debug files are also searched in the
  /// directory of this path.
  func findings(of name: String) -> [Finding] {
    var findings = [Finding(.note, "program", name)]
    if let buildID {
      findings.append(Finding(.good, "build id", buildID))
    } else {
      findings.append(
        Finding(
          .warning, "build id", "no build id: crashes of different builds cannot be distinguished",
          remedy: "link with --build-id"))
    }
    return findings + [symbols(of: name), unwindTables()]
  }

  private func symbols(of name: String) -> Finding {
    // Without a build id, crashd finds no symbols, not even those in the file itself.
    guard buildID != nil else {
      return Finding(
        .warning, "symbols", "reports will have addresses instead of names: crashd finds symbols by the build id",
        remedy: "link with --build-id")
    }
    if sections.contains(".debug_info") {
      return Finding(.good, "symbols", "functions, files and lines, inlined ones too")
    }
    if let debugFile = debugFile(of: name) {
      return Finding(.good, "symbols", "functions, files and lines from '\(debugFile)'")
    }
    let remedy = "build with -g, install its debug symbols, or set a debuginfod server in crashd's settings"
    if sections.contains(".symtab") {
      return Finding(.warning, "symbols", "only functions: no debug information found", remedy: remedy)
    }
    return Finding(.warning, "symbols", "stripped file: reports will name only exported functions", remedy: remedy)
  }

  /// Returns the path of the debug file.
  ///
  /// Searches for this file by the build id, as crashd does.
  private func debugFile(of name: String) -> String? {
    guard let buildID else { return nil }
    return DebugFilePaths(imagePath: Self.whole(name)).paths(buildID: buildID, link: debugLink).first { path in
      guard let file = ImageFacts(path: path), file.sections.contains(".debug_info") else { return false }
      return file.buildID == buildID || file.notedID == buildID
    }
  }

  /// Returns the absolute path of an existing file; returns any other name unchanged.
  private static func whole(_ name: String) -> String {
    guard !name.hasPrefix("/") else { return name }
    // Invariant: realpath returns an allocated string, which is copied and then freed.
    guard let path = unsafe realpath(name, nil) else { return name }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  private func unwindTables() -> Finding {
    if sections.contains(".eh_frame") { return Finding(.good, "unwinding", "the file has unwind tables") }
    return Finding(
      .warning, "unwinding", "there are no unwind tables: stacks end in this image where code has no frame pointers",
      remedy: "do not strip .eh_frame, do not compile with -fno-asynchronous-unwind-tables")
  }
}
