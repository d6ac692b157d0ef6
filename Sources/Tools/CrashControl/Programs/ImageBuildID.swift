internal import CrashSymbols
import Glibc

/// Reads the build id of the ELF file that is now at a path.
///
/// The file is untrusted input. Only a regular file is opened, and every read is bounded.
enum ImageBuildID {
  private static let headerLimit = 64
  private static let noteLimitBytes = 64 << 10

  /// Returns the build id in lower-case hexadecimal digits, or nil if the file does not exist or has no build id.
  static func read(_ path: String) -> String? {
    // Check the file type before opening the file for reading, because opening a device can have side effects. A
    // descriptor with O_PATH does not open the device itself.
    let place = unsafe open(path, openPath | O_CLOEXEC)
    guard place >= 0 else { return nil }
    defer { close(place) }
    var status = stat()
    // Invariant: fstat fills in the structure.
    guard unsafe fstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let file = unsafe open("/proc/self/fd/\(place)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return read(file)
  }

  /// Reads the build id from the notes of a little-endian 64-bit ELF file.
  private static func read(_ file: Int32) -> String? {
    guard let header = bytes(of: file, at: 0, count: 64), header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]) else {
      return nil
    }
    let (start, size, count) = (number(header, 32, 8), number(header, 54, 2), number(header, 56, 2))
    guard size >= 56 else { return nil }
    for index in 0..<min(count, UInt64(headerLimit)) {
      let (offset, isOver) = start.addingReportingOverflow(index * size)
      guard !isOver, let program = bytes(of: file, at: offset, count: 56) else { return nil }
      // The type 4 is PT_NOTE.
      guard number(program, 0, 4) == 4 else { continue }
      let notesBytes = min(number(program, 32, 8), UInt64(noteLimitBytes))
      guard let notes = bytes(of: file, at: number(program, 8, 8), count: Int(notesBytes)) else { continue }
      if let id = buildID(in: notes, alignment: number(program, 48, 8) == 8 ? 8 : 4) { return id }
    }
    return nil
  }

  /// Returns the content of the note of type 3 (NT_GNU_BUILD_ID) with the owner "GNU".
  private static func buildID(in notes: [UInt8], alignment: Int) -> String? {
    func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }
    var position = 0
    while position + 12 <= notes.count {
      let (nameBytes, idBytes) = (Int(number(notes, position, 4)), Int(number(notes, position + 4, 4)))
      let type = number(notes, position + 8, 4)
      let name = position + 12
      let id = position + aligned(12 + nameBytes)
      guard id + idBytes <= notes.count else { return nil }
      if type == 3, Array(notes[name..<min(name + nameBytes, notes.count)]) == Array("GNU\0".utf8) {
        return BuildID.text(notes[id..<(id + idBytes)])
      }
      position = id + aligned(idBytes)
    }
    return nil
  }

  static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }

  /// Returns exactly `count` bytes, or nil if the file ends before them.
  static func bytes(of file: Int32, at offset: UInt64, count: Int) -> [UInt8]? {
    guard let offset = off_t(exactly: offset) else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    // Invariant: pread writes at most as many bytes as the array has.
    return unsafe pread(file, &bytes, count, offset) == count ? bytes : nil
  }
}

// The value of O_PATH in <fcntl.h>, which Swift's Glibc module does not export.
private let openPath: Int32 = 0o10_000_000
