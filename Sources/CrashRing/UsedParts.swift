internal import Glibc

/// Which entries of a ring's file were ever used, asked without touching the rest.
///
/// To read a hole of a memfd through a mapping makes a page of it: memory that nobody has asked for, charged to the
/// reader. A process that has not crashed uses a few pages of the two thousand of its ring.
struct UsedParts: Sendable {
  let descriptor: Int32

  /// Whether the word at `offset` is something else than zero, or cannot be told.
  ///
  /// Asked by `pread`, which makes no page of a hole. It takes no lock of the file either, as `lseek` with `SEEK_DATA`
  /// does: who writes to a ring from memory that does not come holds that lock for as long as he likes.
  func contains(_ offset: Int) -> Bool {
    var word: UInt64 = 0
    let count = unsafe pread(descriptor, &word, MemoryLayout<UInt64>.size, off_t(offset))
    return count != MemoryLayout<UInt64>.size || word != 0
  }
}
