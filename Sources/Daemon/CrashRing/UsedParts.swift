internal import Glibc

/// Which entries of a ring's file were ever used, asked without touching the rest.
///
/// To read a hole of a memfd through a mapping makes a page of it: memory that nobody has asked for, charged to the
/// reader. A process that has not crashed uses a few pages of the two thousand of its ring.
struct UsedParts: Sendable {
  let descriptor: Int32
  /// The tables of small entries as they were at one moment; empty: each word is asked for.
  private var tables: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Asks about the tables of small entries in one piece: they have hundreds, of which few are used.
  ///
  /// What is used later is not seen as used: to be called right before they are read.
  mutating func readTables() {
    let size = RingLayout.smallTables.count
    tables = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      // pread writes at most as many bytes as the buffer has.
      initialized = unsafe max(0, pread(descriptor, buffer.baseAddress, size, off_t(RingLayout.smallTables.lowerBound)))
    }
  }

  /// Whether the word at `offset` is something else than zero, or cannot be told.
  ///
  /// Asked by `pread`, which makes no page of a hole. It takes no lock of the file either, as `lseek` with `SEEK_DATA`
  /// does: who writes to a ring from memory that does not come holds that lock for as long as he likes.
  func contains(_ offset: Int) -> Bool {
    let size = MemoryLayout<UInt64>.size
    let place = offset - RingLayout.smallTables.lowerBound
    if place >= 0, place + size <= tables.count { return tables[place..<place + size].contains { $0 != 0 } }
    var word: UInt64 = 0
    let count = unsafe pread(descriptor, &word, size, off_t(offset))
    return count != size || word != 0
  }
}
