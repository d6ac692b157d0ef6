internal import Glibc

/// Which parts of a ring's file have ever been written; the rest is holes, and reads as zeros.
///
/// To read a hole of a memfd through a mapping makes a page of it: memory that nobody has asked for, charged to the
/// reader. A process that has not crashed uses a few pages of the two thousand of its ring.
struct UsedParts: Sendable {
  // In their order, each of whole pages.
  private let ranges: [Range<Int>]

  /// Asks the kernel.
  ///
  /// What is written afterwards may be missing, as it would be for a reader that came a moment earlier.
  /// - Returns: nil when the file does not tell: then all of it counts as used.
  init?(descriptor: Int32) {
    var ranges: [Range<Int>] = []
    var position = 0
    while position < RingLayout.size {
      // Moves the position of the descriptor, which nobody uses: rings are read by pread and mappings.
      let start = lseek(descriptor, off_t(position), seekData)
      // ENXIO: holes to the end.
      if start < 0 && errno == ENXIO { break }
      let end = start < 0 ? -1 : lseek(descriptor, start, seekHole)
      guard end > start else { return nil }
      ranges.append(Int(start)..<Int(end))
      position = Int(end)
    }
    self.ranges = ranges
  }

  /// Whether the byte at `offset` may be something else than zero.
  func contains(_ offset: Int) -> Bool {
    // The first range that ends behind it.
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= offset
  }
}

// <linux/fs.h>; Swift's Glibc module does not show them.
private let seekData: Int32 = 3
private let seekHole: Int32 = 4
