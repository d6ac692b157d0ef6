import Glibc

/// What an ELF file has that reports are made of.
///
/// The file may be any: only a regular one is opened, and what is read of it has bounds.
struct ImageFacts {
  private var buildID: String?
  private var sections: Set<String>

  private static let sectionLimit = 4096
  private static let nameLimitBytes = 1 << 20

  /// Nil: it is no ELF file of 64 bits in little-endian order, or cannot be read.
  init?(path: String) {
    var status = stat()
    // Follows links, of /proc too; it fills the struct that it is given. To open a device may do something.
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard let header = Self.bytes(of: file, at: 0, count: 64), header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1])
    else { return nil }
    buildID = ImageBuildID.read(path)
    sections = Self.sections(of: file, header)
  }

  private static func sections(of file: Int32, _ header: [UInt8]) -> Set<String> {
    let (start, size) = (number(header, 40, 8), number(header, 58, 2))
    let (count, names) = (number(header, 60, 2), number(header, 62, 2))
    guard size == 64, count <= sectionLimit, names < count,
      let table = bytes(of: file, at: start, count: Int(count * size))
    else { return [] }
    let (offset, length) = (number(table, Int(names) * 64 + 24, 8), number(table, Int(names) * 64 + 32, 8))
    guard length <= nameLimitBytes, let text = bytes(of: file, at: offset, count: Int(length)) else { return [] }
    var sections: Set<String> = []
    for index in 0..<Int(count) {
      let place = Int(number(table, index * 64, 4))
      guard place < text.count else { continue }
      sections.insert(String(decoding: text[place...].prefix { $0 != 0 }, as: UTF8.self))
    }
    return sections
  }

  func findings(of name: String) -> [Finding] {
    var findings = [Finding(.note, "program", name)]
    if let buildID {
      findings.append(Finding(.good, "build id", buildID))
    } else {
      findings.append(
        Finding(
          .warning, "build id", "there is none: its crashes cannot be told by build, and no debug file is found for it",
          remedy: "link with --build-id"))
    }
    return findings + [symbols(), unwindTables()]
  }

  private func symbols() -> Finding {
    if sections.contains(".debug_info") {
      return Finding(.good, "symbols", "functions, files and lines, inlined ones too")
    }
    if let buildID, let debugFile = Self.debugFile(of: buildID) {
      return Finding(.good, "symbols", "functions, files and lines from '\(debugFile)'")
    }
    let remedy = "build with -g, install its debug symbols, or name a debuginfod server to crashd"
    if sections.contains(".symtab") {
      return Finding(.warning, "symbols", "functions only: there is no debug information", remedy: remedy)
    }
    return Finding(.warning, "symbols", "it is stripped: reports name exported functions only", remedy: remedy)
  }

  private static func debugFile(of buildID: String) -> String? {
    guard buildID.count > 2 else { return nil }
    let path = "/usr/lib/debug/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug"
    // The path is read during the call only.
    return unsafe access(path, R_OK) == 0 ? path : nil
  }

  private func unwindTables() -> Finding {
    if sections.contains(".eh_frame") { return Finding(.good, "unwinding", "it has unwind tables") }
    return Finding(
      .warning, "unwinding", "there are no unwind tables: stacks end in this image where code has no frame pointers",
      remedy: "do not strip .eh_frame, do not compile with -fno-asynchronous-unwind-tables")
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }

  /// All of these bytes, else nil.
  private static func bytes(of file: Int32, at offset: UInt64, count: Int) -> [UInt8]? {
    guard let offset = off_t(exactly: offset) else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    // pread writes at most as many bytes as the array has.
    return unsafe pread(file, &bytes, count, offset) == count ? bytes : nil
  }
}
