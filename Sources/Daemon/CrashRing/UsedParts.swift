internal import Glibc

/// Finds out which entries of a ring's file were ever used, without touching the rest.
///
/// Reading a hole of a memfd through a mapping allocates a page, which is charged to the reader. A process that has not
/// crashed uses a few pages of the two thousand of its ring.
struct UsedParts: Sendable {
  let descriptor: Int32
  /// A snapshot of the tables of small entries; empty: each word is read separately.
  private var tables: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Reads the tables of small entries in one piece: they have hundreds of entries, few of which are used.
  ///
  /// Precondition: called directly before the tables are read, because later uses are not seen.
  mutating func readTables() {
    let size = RingLayout.smallTables.count
    tables = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      // pread writes at most as many bytes as the buffer has.
      initialized = unsafe max(0, pread(descriptor, buffer.baseAddress, size, off_t(RingLayout.smallTables.lowerBound)))
    }
  }

  /// Whether the word at `offset` is not zero, or cannot be read.
  ///
  /// It uses `pread`, which allocates no page for a hole. It takes no lock of the file either, unlike `lseek` with
  /// `SEEK_DATA`: a process that writes to its ring from memory that never arrives holds that lock for as long as it
  /// likes.
  func contains(_ offset: Int) -> Bool {
    let size = MemoryLayout<UInt64>.size
    let place = offset - RingLayout.smallTables.lowerBound
    if place >= 0, place + size <= tables.count { return tables[place..<place + size].contains { $0 != 0 } }
    var word: UInt64 = 0
    let count = unsafe pread(descriptor, &word, size, off_t(offset))
    return count != size || word != 0
  }
}
