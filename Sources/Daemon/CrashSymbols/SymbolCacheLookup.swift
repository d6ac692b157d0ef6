/// One function of a chain, as numbers.
///
/// Names and files are offsets into the cache's strings.
public struct SymbolCachePlace: Sendable, Equatable {
  /// The linkage name.
  public var name: UInt32
  /// The offset of the function's first byte from the image's base; `UInt32.max` for inlined functions.
  public var entry: UInt32
  /// The file; 0 if unknown.
  public var file: UInt32
  /// The line, starting with 1; 0 if unknown.
  public var line: UInt32
  /// The column, starting with 1; 0 if unknown.
  public var column: UInt32
  /// Whether it was inlined into the next place of the chain.
  public var isInline: Bool
  /// The file of the function's declaration; 0 if unknown.
  public var declarationFile: UInt32
  /// The line of the function's declaration, starting with 1; 0 if unknown.
  public var declarationLine: UInt32
}

/// The sections of a cache, each of which is limited by its count of items.
struct SymbolCacheSections: Sendable {
  struct Location: BitwiseCopyable {
    var context: UInt32
    var lineColumn: UInt32
  }

  struct Context: BitwiseCopyable {
    var function: UInt32
    var file: UInt32
    var parent: UInt32
    var lineBase: UInt32
  }

  struct Function: BitwiseCopyable {
    var name: UInt32
    var entry: UInt32
    var file: UInt32
    var line: UInt32
  }

  let base: UInt64
  let firstPage: UInt32
  let pages: MappedSection<UInt32>
  let ranges: MappedSection<UInt32>
  let locations: MappedSection<Location>
  let contexts: MappedSection<Context>
  let functions: MappedSection<Function>
  let starts: MappedSection<UInt8>

  /// Returns nil if the sections do not lie within the file.
  init?(of header: SymbolCacheHeader, in file: MappedFile) {
    guard
      let pages: MappedSection<UInt32> = file.section(at: header.pagesOffset, count: header.pageCount),
      let ranges: MappedSection<UInt32> = file.section(at: header.rangesOffset, count: header.rangeCount),
      let locations: MappedSection<Location> = file.section(at: header.locationsOffset, count: header.locationCount),
      let contexts: MappedSection<Context> = file.section(at: header.contextsOffset, count: header.contextCount),
      let functions: MappedSection<Function> = file.section(at: header.functionsOffset, count: header.functionCount),
      let starts: MappedSection<UInt8> = file.section(at: header.startsOffset, count: header.rangeCount)
    else { return nil }
    base = header.base
    firstPage = header.firstPage
    self.pages = pages
    self.ranges = ranges
    self.locations = locations
    self.contexts = contexts
    self.functions = functions
    self.starts = starts
  }
}

// The search without any text, which runs for every frame of a crash with thousands of frames.
extension SymbolCache {
  /// Calls `body` for each place at a link address, innermost first, until it returns false.
  ///
  /// The search does not allocate. To get texts, use ``frames(at:)``.
  /// - Returns: Whether the chain was complete. An empty chain is not complete.
  @inline(__always)
  public func forEachPlace(at linkAddress: UInt64, _ body: (SymbolCachePlace) -> Bool) -> Bool {
    guard var index = locationIndex(at: linkAddress) else { return false }
    for _ in 0..<SymbolCacheFormat.chainLimit {
      guard let (place, parent) = place(ofLocation: index), body(place) else { return false }
      if parent == SymbolCacheFormat.none { return true }
      // Parents must come before their children. Otherwise the chain would be a loop.
      guard parent < index else { return false }
      index = parent
    }
    return false
  }

  /// Returns the location of the last range that starts at or before the address.
  @inline(__always)
  func locationIndex(at linkAddress: UInt64) -> UInt32? {
    guard linkAddress >= sections.base, let offset = UInt32(exactly: linkAddress - sections.base) else { return nil }
    let page = (offset >> SymbolCacheFormat.pageBits) &- sections.firstPage
    // If the address is below the first page, this number is far too large.
    guard
      let low = sections.pages[page], let high = sections.pages[page &+ 1],
      let next = sections.starts.upperBound(
        of: UInt8(truncatingIfNeeded: offset & SymbolCacheFormat.pageMask), from: low, to: high)
    else { return nil }
    // If no range in this page starts before the address, the last range of earlier pages extends to the address.
    guard next > 0, let index = sections.ranges[next &- 1], index != SymbolCacheFormat.none else { return nil }
    return index
  }

  /// Returns a place, and the index of the location into which the place was inlined.
  @inline(__always)
  private func place(ofLocation index: UInt32) -> (SymbolCachePlace, parent: UInt32)? {
    guard
      let location = sections.locations[index], let context = sections.contexts[location.context],
      let function = sections.functions[context.function]
    else { return nil }
    let place = SymbolCachePlace(
      name: function.name, entry: function.entry, file: context.file,
      line: context.lineBase &+ location.lineColumn >> SymbolCacheFormat.columnBits,
      column: location.lineColumn & (1 << SymbolCacheFormat.columnBits - 1),
      isInline: context.parent != SymbolCacheFormat.none, declarationFile: function.file,
      declarationLine: function.line)
    return (place, context.parent)
  }
}
