internal import Glibc

/// Determines which entries of a ring's memfd the process has used, without touching the other entries.
///
/// If crashd reads a hole of the memfd (a page that was never written) through its mapping, the kernel allocates a page
/// and charges crashd for it. A process that has not crashed uses only a few of the two thousand pages of its ring.
struct UsedParts: Sendable {
  let descriptor: Int32
  /// A copy of the small tables (annotations, breadcrumbs and incidents).
  ///
  /// If the copy is empty, each word is read from the file separately.
  private var tables: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Reads the small tables with one system call.
  ///
  /// The small tables have hundreds of entries, and a process usually uses only a few of them. Precondition: the caller
  /// reads the tables immediately after this call, because the copy lacks entries that the process uses later.
  mutating func readTables() {
    let size = RingLayout.smallTables.count
    tables = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      // pread writes at most `size` bytes, which is the capacity of `buffer`.
      initialized = unsafe max(0, pread(descriptor, buffer.baseAddress, size, off_t(RingLayout.smallTables.lowerBound)))
    }
  }

  /// Whether the word at `offset` in the ring is not zero; also true if the word cannot be read.
  ///
  /// The method uses `pread`, because `pread` allocates no page for a hole in the file. In contrast to `lseek` with
  /// `SEEK_DATA`, `pread` takes no lock on the file. A malicious process could hold this lock indefinitely, with a
  /// write to the ring's file from memory whose pages never become available.
  func contains(_ offset: Int) -> Bool {
    let size = MemoryLayout<UInt64>.size
    let place = offset - RingLayout.smallTables.lowerBound
    if place >= 0, place + size <= tables.count { return tables[place..<place + size].contains { $0 != 0 } }
    var word: UInt64 = 0
    let count = unsafe pread(descriptor, &word, size, off_t(offset))
    return count != size || word != 0
  }
}
