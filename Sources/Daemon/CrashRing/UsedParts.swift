internal import Glibc

/// Determines which entries of a ring's file were ever used, without touching the other entries.
///
/// Reading a hole of a memfd through a mapping allocates a page, which is charged to the reader. A process that has not
/// crashed uses only a few of the two thousand pages of its ring.
struct UsedParts: Sendable {
  let descriptor: Int32
  /// A snapshot of the tables of small entries.
  ///
  /// If it is empty, each word is read separately.
  private var tables: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Reads the tables of small entries in one call, because they have hundreds of entries, of which few are used.
  ///
  /// Precondition: called immediately before the tables are read, because later uses are not detected.
  mutating func readTables() {
    let size = RingLayout.smallTables.count
    tables = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      // pread writes at most as many bytes as the buffer has.
      initialized = unsafe max(0, pread(descriptor, buffer.baseAddress, size, off_t(RingLayout.smallTables.lowerBound)))
    }
  }

  /// Whether the word at `offset` is not zero or cannot be read.
  ///
  /// Uses `pread`, which allocates no page for a hole. Unlike `lseek` with `SEEK_DATA`, `pread` takes no lock on the
  /// file. A hostile process could hold that lock as long as it likes, by writing to its ring from memory whose pages
  /// never become available.
  func contains(_ offset: Int) -> Bool {
    let size = MemoryLayout<UInt64>.size
    let place = offset - RingLayout.smallTables.lowerBound
    if place >= 0, place + size <= tables.count { return tables[place..<place + size].contains { $0 != 0 } }
    var word: UInt64 = 0
    let count = unsafe pread(descriptor, &word, size, off_t(offset))
    return count != size || word != 0
  }
}
