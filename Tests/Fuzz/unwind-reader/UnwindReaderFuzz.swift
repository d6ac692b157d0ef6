// The entry point for libFuzzer. An input is an ELF file, whose unwind tables the target extracts and uses, or an
// unwind request (stacks and tables, which crashd sends to crash-analyse). The target corrects the magic, the offsets
// and the checksums of a request: otherwise the reader would refuse a random request at its first check.
// scripts/fuzz/elf builds this target.
import CShimRing
import CrashSymbols
import Glibc

/// An unnamed file that each image overwrites.
private let file = makeFile()

private func makeFile() -> Int32 {
  var path = Array("/dev/shm/unwind-reader-XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  precondition(descriptor >= 0 && unlink(path) == 0)
  return descriptor
}

/// Processes the input as crash-analyse does.
///
/// A trap, a finding of a sanitizer or a failed precondition ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzUnwindReader(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  if bytes.starts(with: [0x7f, 0x45, 0x4c, 0x46]) {
    unwindWithTables(of: bytes)
  } else if bytes.count >= UnwindRequest.headerBytes(threads: 0, images: 0) {
    unwind(Forger.request(bytes))
  }
  return 0
}

/// Extracts the tables of an image, and unwinds from the first function in the tables.
private func unwindWithTables(of image: [UInt8]) {
  precondition(ftruncate(file, 0) == 0 && pwrite(file, image, image.count, 0) == image.count)
  do throws(UnwindSections.Failure) {
    let tables = try UnwindSections(image: file).file
    guard tables.count <= UnwindTablesHeader.fileLimitBytes else { return }
    guard let header = UnwindTablesHeader(tables, fileSize: tables.count) else {
      preconditionFailure("the extracted tables are unreadable")
    }
    precondition(header.encoded == Array(tables.prefix(UnwindTablesHeader.size)))
    // The index of the tables has a header of 12 bytes. The first entry after it begins with the start of a function,
    // relative to the table's address.
    let index = tables[UnwindTablesHeader.size...].dropFirst(12).prefix(4)
    let start = index.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    let pc = header.index.address &+ UInt64(bitPattern: Int64(Int32(bitPattern: start)))
    unwind(Forger.request(tables: tables, pc: pc))
  } catch {
    precondition(!error.problem.isEmpty)
  }
}

private func unwind(_ bytes: [UInt8]) {
  bytes.withUnsafeBytes { buffer in
    guard let input = RequestMemory(buffer), let request = UnwindRequest(input.header, size: input.size) else { return }
    precondition(request.threads.count <= UnwindRequest.threadLimit)
    precondition(request.images.count <= UnwindRequest.imageLimit)
    let images = ImageList(request.images, in: input)
    let answer = UnwindAnswer(stacks: request.threads.map { $0.unwound(images, input, request.architecture) })
    precondition(answer.stacks.allSatisfy { $0.frames.count <= UnwindAnswer.frameLimit })
    precondition(answer.encoded.count <= UnwindAnswer.limitBytes)
    precondition(UnwindAnswer(answer.encoded, threads: request.threads.count) == answer)
  }
}

/// Creates unwind requests, and the unwind files that they contain.
private enum Forger {
  private static let headBytes = UnwindRequest.headerBytes(threads: 0, images: 0)
  private static let imageBytes = UnwindRequest.headerBytes(threads: 0, images: 1) - headBytes

  /// Creates a request with one thread at `pc`, a stack of zeros, and an image with these tables.
  static func request(tables: [UInt8], pc: UInt64) -> [UInt8] {
    let start = UnwindRequest.headerBytes(threads: 1, images: 1)
    let stack = [UInt8](repeating: 0, count: 64)
    let registers = [UInt64](repeating: 0x7000, count: UnwindRequest.Architecture.x86_64.registerCount - 1) + [pc]
    let request = UnwindRequest(
      threads: [
        .init(
          registers: registers, isBadFetch: false, isPastFault: false, stackStart: 0x7000,
          stack: .init(offset: UInt64(start), size: 64))
      ],
      images: [
        .init(start: 0, end: 1 << 40, bias: 0, tables: .init(offset: UInt64(start + 64), size: UInt64(tables.count)))
      ])
    return request.encoded + stack + tables
  }

  /// Turns the input into a request with a valid magic, few threads and images, and valid checksums.
  ///
  /// The lowest bit selects whether the target moves the offsets to positions inside the input.
  static func request(_ input: [UInt8]) -> [UInt8] {
    var bytes = input
    let isFitted = bytes[0] & 1 == 0
    bytes.replaceSubrange(0..<8, with: UnwindRequest(threads: [], images: []).encoded.prefix(8))
    let (threads, images) = (Int(bytes[8] % 3), Int(bytes[16] % 5))
    put(UInt64(threads), at: 8, &bytes)
    put(UInt64(images), at: 16, &bytes)
    let architecture: UnwindRequest.Architecture = bytes[24] & 1 == 1 ? .x86_64 : .aarch64
    put(architecture.rawValue, at: 24, &bytes)
    guard
      UnwindRequest.headerBytes(threads: threads, images: images, architecture: architecture) <= bytes.count
    else { return bytes }
    let threadBytes = UnwindRequest.headerBytes(threads: 1, images: 0, architecture: architecture) - headBytes
    let firstImage = headBytes + threads * threadBytes
    let stacks = (0..<threads).map { headBytes + ($0 + 1) * threadBytes - 16 }
    let tables = (0..<images).map { firstImage + ($0 + 1) * imageBytes - 16 }
    if isFitted { for at in stacks + tables { fit(at, &bytes) } }
    for at in tables { seal(at, isFitted: isFitted, &bytes) }
    return bytes
  }

  /// Changes the offset at `at` so that it points into the input.
  private static func fit(_ at: Int, _ bytes: inout [UInt8]) {
    let offset = word(at, bytes) % UInt64(bytes.count + 1)
    put(offset, at: at, &bytes)
    put(word(at + 8, bytes) % (UInt64(bytes.count) - offset + 1), at: at + 8, &bytes)
  }

  /// Computes the checksum of an unwind file, and writes it into the file.
  private static func seal(_ at: Int, isFitted: Bool, _ bytes: inout [UInt8]) {
    let (offset, size) = (word(at, bytes), word(at + 8, bytes))
    guard size >= UInt64(UnwindTablesHeader.size), offset <= UInt64(bytes.count), size <= UInt64(bytes.count) - offset
    else { return }
    let (start, end) = (Int(offset), Int(offset + size))
    if isFitted {
      let room = size - UInt64(UnwindTablesHeader.size)
      let index = word(start + 24, bytes) % (room + 1)
      bytes.replaceSubrange(start..<start + 8, with: Array("CSUNW1\0\0".utf8))
      bytes.replaceSubrange(start + 12..<start + 16, with: [bytes[start + 12] % 65, 0, 0, 0])
      put(index, at: start + 24, &bytes)
      put(room - index, at: start + 40, &bytes)
    }
    let checksum = bytes[(start + UnwindTablesHeader.checkedFrom)..<end].withUnsafeBytes {
      cs_ring_crc32c(0, $0.baseAddress, $0.count)
    }
    for index in 0..<4 { bytes[start + 8 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
  }

  private static func word(_ at: Int, _ bytes: [UInt8]) -> UInt64 {
    bytes[at..<at + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func put(_ word: UInt64, at offset: Int, _ bytes: inout [UInt8]) {
    for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * index)) }
  }
}
