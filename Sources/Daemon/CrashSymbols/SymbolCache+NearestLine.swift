// Finds source lines for code that has no line in the debug information. Compilers give such code the line 0: merged
// calls, code after a check, and the instruction at which an async function resumes.
extension SymbolCache {
  /// Returns the same functions as ``frames(at:)``, with approximate lines where lines are missing.
  ///
  /// If a function has no line at the address, the result contains the nearest line of the same function. This line is
  /// marked as approximate.
  ///
  /// Complexity: linear in the number of address ranges that are examined. For each of the four innermost functions
  /// without a line, the method examines at most 128 ranges.
  public func framesWithNearestLines(at linkAddress: UInt64) -> [SourceFrame] {
    var frames = frames(at: linkAddress)
    guard frames.last?.symbolAddress != nil, frames.contains(where: { $0.line == nil }) else { return frames }
    let places = places(at: linkAddress)
    guard places.count == frames.count, let entry = places.last?.entry else { return frames }
    for index in frames.indices.filter({ frames[$0].line == nil && !frames[$0].mangled.isEmpty }).prefix(4) {
      let depth = frames.count - index
      guard let place = nearest(to: linkAddress, of: places[index].name, depth: depth, entry: entry),
        let found = frame(of: place)
      else { continue }
      frames[index].file = found.file
      frames[index].line = found.line
      frames[index].column = found.column
      frames[index].isLineApproximate = true
    }
    return frames
  }

  /// The maximum number of address ranges that are examined before the address, and also after the address.
  private static var reach: UInt32 { 64 }

  /// Returns the place of a function in the nearest address range in which this function has a line.
  private func nearest(to linkAddress: UInt64, of name: UInt32, depth: Int, entry: UInt32) -> SymbolCachePlace? {
    guard let here = rangeNumber(at: linkAddress) else { return nil }
    var best: (distance: UInt64, place: SymbolCachePlace)?
    for isForward in [true, false] {
      for step in 1...Self.reach {
        guard isForward || here >= step else { break }
        guard let start = rangeStart(isForward ? here &+ step : here - step) else { break }
        let distance = isForward ? start &- linkAddress : linkAddress &- start
        if let best, best.distance <= distance { break }
        let chain = places(at: start)
        // End the search in this direction at the first range that belongs to another function.
        guard chain.last?.entry == entry else { break }
        guard chain.count >= depth else { continue }
        let place = chain[chain.count - depth]
        guard place.name == name, place.line != 0, isSource(place.file) else { continue }
        best = (distance, place)
        break
      }
    }
    return best?.place
  }

  private func isSource(_ file: UInt32) -> Bool {
    file != 0 && string(file).map { !$0.hasSuffix("<compiler-generated>") } == true
  }

  private func places(at linkAddress: UInt64) -> [SymbolCachePlace] {
    var places: [SymbolCachePlace] = []
    let isWhole = forEachPlace(at: linkAddress) { place in
      places.append(place)
      return true
    }
    return isWhole ? places : []
  }

  /// Returns the index of the address range that contains a link address.
  private func rangeNumber(at linkAddress: UInt64) -> UInt32? {
    guard linkAddress >= sections.base, let offset = UInt32(exactly: linkAddress - sections.base) else { return nil }
    let page = (offset >> SymbolCacheFormat.pageBits) &- sections.firstPage
    guard
      let low = sections.pages[page], let high = sections.pages[page &+ 1],
      let next = sections.starts.upperBound(
        of: UInt8(truncatingIfNeeded: offset & SymbolCacheFormat.pageMask), from: low, to: high), next > 0
    else { return nil }
    return next &- 1
  }

  /// Returns the link address at which an address range starts.
  ///
  /// A binary search finds the page that contains this address.
  private func rangeStart(_ number: UInt32) -> UInt64? {
    guard number < header.rangeCount, header.pageCount > 0, let start = sections.starts[number] else { return nil }
    var (low, high) = (0 as UInt32, header.pageCount - 1)
    while low < high {
      let middle = low + (high - low + 1) / 2
      guard let first = sections.pages[middle] else { return nil }
      if first <= number { low = middle } else { high = middle - 1 }
    }
    return sections.base &+ UInt64(low &+ sections.firstPage) << UInt64(SymbolCacheFormat.pageBits) &+ UInt64(start)
  }
}
