import CLibunwind
import CShimRing
import CrashSymbols
import Glibc

/// crashd's unwind request, as a file that stays mapped until the process ends.
///
/// Only crashd can write the file, and crashd has finished writing before this process starts. If crashd truncated the
/// file now, reading it would end this process with SIGBUS. Safe: only ranges within the mapping are read.
@safe
struct RequestMemory {
  let size: UInt64
  private let start: UnsafeRawPointer

  /// Fails if the descriptor is not a file, or if the file is empty or too large.
  init?(descriptor: Int32) {
    var status = stat()
    // Invariant: fstat fills in the structure.
    guard unsafe fstat(descriptor, &status) == 0, (1...UnwindRequest.limitBytes).contains(status.st_size),
      let memory = unsafe mmap(nil, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0), unsafe memory != MAP_FAILED
    else { return nil }
    unsafe self.init(UnsafeRawBufferPointer(start: memory, count: status.st_size))
  }

  /// Creates a request from bytes, which must outlive this value.
  ///
  /// Fails if `bytes` is empty or too large.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.baseAddress, (1...UnwindRequest.limitBytes).contains(bytes.count) else { return nil }
    size = UInt64(bytes.count)
    unsafe start = first
  }

  /// The bytes that can belong to the header of the request.
  var header: [UInt8] {
    let count = min(Int(size), UnwindRequest.headerLimitBytes)
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Returns the bytes of a range that the parser of the request has validated.
  func bytes(_ place: UnwindRequest.Place) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: start + Int(place.offset), count: Int(place.size))
  }

  /// Returns the bytes of a range, with the address that they had in the crashed process.
  func piece(_ place: UnwindRequest.Place, at address: UInt64) -> cs_snapshot_piece {
    unsafe cs_snapshot_piece(
      address: address, bytes: bytes(place).baseAddress?.assumingMemoryBound(to: UInt8.self), count: place.size)
  }
}

/// The images in the order of their addresses.
///
/// Images that overlap an earlier image are omitted.
///
/// Safe: the pointers refer to the request's memory, which is never unmapped.
@safe
struct ImageList {
  private(set) var images: [cs_snapshot_image] = unsafe []

  init(_ list: [UnwindRequest.Image], in input: RequestMemory) {
    var end: UInt64 = 0
    for image in list.sorted(by: { $0.start < $1.start }) where image.start < image.end && image.start >= end {
      end = image.end
      unsafe images.append(Self.image(image, input))
    }
  }

  /// Creates an image.
  ///
  /// If the unwind file of the image is missing or damaged, the image's tables are empty.
  private static func image(_ image: UnwindRequest.Image, _ input: RequestMemory) -> cs_snapshot_image {
    var result = unsafe cs_snapshot_image()
    unsafe result.start = image.start
    unsafe result.end = image.end
    let file = unsafe input.bytes(image.tables)
    guard
      let header = unsafe UnwindTablesHeader(
        Array(file.prefix(UnwindTablesHeader.size)), fileSize: Int(image.tables.size)),
      unsafe checksum(file) == header.checksum
    else { return unsafe result }
    let index = image.tables.offset + UInt64(UnwindTablesHeader.size)
    unsafe result.header = input.piece(
      UnwindRequest.Place(offset: index, size: header.index.size), at: header.index.address &+ image.bias)
    unsafe result.frames = input.piece(
      UnwindRequest.Place(offset: index + header.index.size, size: header.frames.size),
      at: header.frames.address &+ image.bias)
    return unsafe result
  }

  private static func checksum(_ file: UnsafeRawBufferPointer) -> UInt32 {
    let checked = unsafe UnsafeRawBufferPointer(rebasing: file.dropFirst(UnwindTablesHeader.checkedFrom))
    return unsafe cs_ring_crc32c(0, checked.baseAddress, checked.count)
  }
}
