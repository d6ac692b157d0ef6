import CShimRing
import CrashSymbols
import Glibc

/// The unwind tables of an ELF file.
///
/// A program header contains the location of `.eh_frame_hdr`, and this section contains the location of `.eh_frame`.
///
/// The section table is not used, so the code also works for files whose section table is missing or damaged. Every
/// offset is checked against the file size before it is used.
struct UnwindSections {
  /// The reason why the tables of a file cannot be read.
  struct Failure: Error {
    var problem: String
    init(_ problem: String) { self.problem = problem }
  }

  private(set) var buildID: [UInt8] = []
  private let index: UnwindTablesHeader.Section
  private let indexBytes: [UInt8]
  private let frames: UnwindTablesHeader.Section
  private let framesBytes: [UInt8]

  private static let headerLimit = 4096
  private static let noteLimitBytes: UInt64 = 64 << 10

  /// Reads the tables of the file open as `image`.
  init(image: Int32) throws(Failure) {
    let file = FileBytes(descriptor: image)
    let segments = try Self.segments(file)
    guard let named = segments.first(where: { $0.type == Segment.unwindIndex }) else {
      throw Failure("the image has no unwind tables")
    }
    let limit = UInt64(UnwindTablesHeader.fileLimitBytes)
    indexBytes = try file.read(named.offset, min(named.fileSize, limit))
    // The header must have version 1 and a relative pointer of four bytes to `.eh_frame`, because every linker writes
    // this form.
    guard indexBytes.count >= 8, indexBytes[0] == 1, indexBytes[1] == 0x1b else {
      throw Failure("the image's unwind tables have an unknown form")
    }
    index = UnwindTablesHeader.Section(address: named.address, size: UInt64(indexBytes.count))
    let distance = Int32(truncatingIfNeeded: indexBytes.little(4, 4))
    let start = named.address &+ 4 &+ UInt64(bitPattern: Int64(distance))
    guard let home = segments.first(where: { $0.isLoaded && start >= $0.address && start - $0.address < $0.fileSize })
    else { throw Failure("the image is damaged: its unwind tables lie outside of it") }
    let room = home.fileSize - (start - home.address)
    let (offset, isTooFar) = home.offset.addingReportingOverflow(start - home.address)
    guard !isTooFar else { throw Failure("the image is damaged: its unwind tables lie outside of it") }
    let bytes = try file.read(offset, min(room, limit))
    framesBytes = Array(bytes.prefix(Self.length(of: bytes)))
    frames = UnwindTablesHeader.Section(address: start, size: UInt64(framesBytes.count))
    for note in segments where note.type == Segment.note {
      let bytes = try file.read(note.offset, min(note.fileSize, Self.noteLimitBytes))
      if let found = Self.buildID(in: bytes, alignment: note.alignment == 8 ? 8 : 4) { buildID = found }
    }
  }

  /// The contents of the unwind file, in which crashd stores the tables of an image.
  var file: [UInt8] {
    var header = UnwindTablesHeader(checksum: 0, buildID: buildID, index: index, frames: frames)
    let unchecked = header.encoded + indexBytes + framesBytes
    // Invariant: the pointer is valid during the call, and the count is the size of the buffer.
    header.checksum = unsafe unchecked[UnwindTablesHeader.checkedFrom...].withUnsafeBytes {
      unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count)
    }
    return header.encoded + unchecked[UnwindTablesHeader.size...]
  }

  /// Returns the number of bytes up to the entry of length 0 that ends the section, or up to a truncated entry.
  private static func length(of bytes: [UInt8]) -> Int {
    var position = 0
    while bytes.count - position >= 4 {
      let length = Int(bytes.little(position, 4))
      if length == 0 { return position + 4 }
      // The length 0xffffffff begins an entry of the 64-bit format, which is not supported.
      guard length <= bytes.count - position - 4 else { return position }
      position += 4 + length
    }
    return position
  }

  private static func buildID(in notes: [UInt8], alignment: Int) -> [UInt8]? {
    var position = 0
    while notes.count - position >= 16 {
      let nameSize = Int(notes.little(position, 4))
      let size = Int(notes.little(position + 4, 4))
      let type = notes.little(position + 8, 4)
      let start = position + 12 + rounded(nameSize, to: 4)
      guard start <= notes.count, size <= notes.count - start else { return nil }
      if type == 3, nameSize == 4, notes[position + 12..<position + 16].elementsEqual([0x47, 0x4e, 0x55, 0]) {
        return size <= 64 ? Array(notes[start..<start + size]) : nil
      }
      position = min(notes.count, start + rounded(size, to: alignment))
    }
    return nil
  }

  private static func rounded(_ size: Int, to alignment: Int) -> Int { (size + alignment - 1) / alignment * alignment }
}

extension UnwindSections {
  private struct Segment {
    static let unwindIndex: UInt64 = 0x6474_e550
    static let note: UInt64 = 4

    var type: UInt64
    var offset: UInt64
    var address: UInt64
    var fileSize: UInt64
    var alignment: UInt64

    var isLoaded: Bool { type == 1 }
  }

  private static func segments(_ file: FileBytes) throws(Failure) -> [Segment] {
    let header = try file.read(0, 64)
    guard header.count == 64, header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]), header.little(54, 2) == 56 else {
      throw Failure("not a 64-bit little-endian ELF file")
    }
    let count = header.little(56, 2)
    guard count <= headerLimit else { throw Failure("the ELF file has too many segments") }
    let bytes = try file.read(header.little(32, 8), count * 56)
    guard bytes.count == count * 56 else { throw Failure("the ELF file is cut off") }
    return stride(from: 0, to: bytes.count, by: 56).map { at in
      Segment(
        type: bytes.little(at, 4), offset: bytes.little(at + 8, 8), address: bytes.little(at + 16, 8),
        fileSize: bytes.little(at + 32, 8), alignment: bytes.little(at + 48, 8))
    }
  }
}

/// Reads ranges of a file.
private struct FileBytes {
  var descriptor: Int32

  /// Returns at most `size` bytes, or fewer at the end of the file.
  func read(_ offset: UInt64, _ size: UInt64) throws(UnwindSections.Failure) -> [UInt8] {
    var status = stat()
    // Invariant: fstat fills in the structure.
    guard unsafe fstat(descriptor, &status) == 0, let end = UInt64(exactly: status.st_size), offset <= end else {
      throw UnwindSections.Failure("the ELF file is cut off")
    }
    var bytes = [UInt8](repeating: 0, count: Int(min(size, end - offset)))
    var done = 0
    while done < bytes.count {
      // Invariant: pread writes at most as many bytes as remain in the array after index `done`.
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe pread(descriptor, $0.baseAddress.map { unsafe $0 + done }, $0.count - done, off_t(offset) + off_t(done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw UnwindSections.Failure("the ELF file cannot be read") }
      done += count
    }
    return bytes
  }
}

extension [UInt8] {
  /// Returns the little-endian number of `count` bytes at `position`.
  ///
  /// Precondition: the array contains these bytes.
  fileprivate func little(_ position: Int, _ count: Int) -> UInt64 {
    var number: UInt64 = 0
    var index = position + count
    // This loop runs for each entry of the tables. In a debug build, reversed() and reduce() take many times as long.
    while index > position {
      index -= 1
      number = number << 8 | UInt64(self[index])
    }
    return number
  }
}
