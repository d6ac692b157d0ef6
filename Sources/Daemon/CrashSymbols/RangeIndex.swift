/// The three sections of a cache that find a range by its address.
struct RangeIndex {
  /// The page of the first range's start.
  private(set) var firstPage: UInt32 = 0
  /// Of each page, how many ranges start before it, and at the end how many there are; empty without ranges.
  private(set) var pages: [UInt32] = []
  private(set) var locations: [UInt32] = []
  private(set) var starts: [UInt8] = []

  /// Splits ranges of two words each, start and location, sorted by start.
  init(of ranges: [UInt32]) {
    guard ranges.count >= 2 else { return }
    let count = ranges.count / 2
    firstPage = ranges[0] >> SymbolCacheFormat.pageBits
    let lastPage = ranges[2 * count - 2] >> SymbolCacheFormat.pageBits
    // Unsorted ranges have no index: whoever makes them is told by a cache that answers nothing.
    guard firstPage <= lastPage else { return }
    pages.reserveCapacity(Int(lastPage - firstPage) + 2)
    locations.reserveCapacity(count)
    starts.reserveCapacity(count)
    for index in 0..<count {
      let page = ranges[2 * index] >> SymbolCacheFormat.pageBits
      while firstPage + UInt32(pages.count) <= min(page, lastPage) { pages.append(UInt32(index)) }
      starts.append(UInt8(truncatingIfNeeded: ranges[2 * index] & SymbolCacheFormat.pageMask))
      locations.append(ranges[2 * index + 1])
    }
    pages.append(UInt32(count))
  }
}
