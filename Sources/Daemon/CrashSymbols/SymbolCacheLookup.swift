/// A function at an address, with numbers instead of strings; if it was inlined, the next place in the chain is its
/// caller.
///
/// The numbers of the name and the files are offsets in the cache's section with the strings.
public struct SymbolCachePlace: Sendable, Equatable {
  /// The offset of the function's linkage name in the strings.
  public var name: UInt32
  /// The offset of the function's first byte from the base address of the image; `UInt32.max` for an inlined function.
  public var entry: UInt32
  /// The offset of the source file's path in the strings; 0 if it is unknown.
  public var file: UInt32
  /// The line number, starting with 1; 0 if it is unknown.
  public var line: UInt32
  /// The column number, starting with 1; 0 if it is unknown.
  public var column: UInt32
  /// Whether the function was inlined into the function of the next place in the chain.
  public var isInline: Bool
  /// The offset in the strings of the path of the file that declares the function; 0 if it is unknown.
  public var declarationFile: UInt32
  /// The line number of the function's declaration, starting with 1; 0 if it is unknown.
  public var declarationLine: UInt32
}

/// The sections of a mapped cache file.
///
/// Every access checks its index against the number of items in the section.
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

  /// Returns nil if a section would exceed the file.
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

// Finds the functions at an address as places, which contain numbers instead of strings. The search must be fast,
// because it runs for every frame of a crash, and a crash can have thousands of frames.
extension SymbolCache {
  /// Calls `body` for each place at a link address, innermost first, until `body` returns false or there is no further
  /// place.
  ///
  /// The search does not allocate memory. ``frames(at:)`` returns strings instead of numbers.
  /// - Returns: Whether the whole chain of places could be read. If the chain is empty, the result is false.
  @inline(__always)
  public func forEachPlace(at linkAddress: UInt64, _ body: (SymbolCachePlace) -> Bool) -> Bool {
    guard var index = locationIndex(at: linkAddress) else { return false }
    for _ in 0..<SymbolCacheFormat.chainLimit {
      guard let (place, parent) = place(ofLocation: index), body(place) else { return false }
      if parent == SymbolCacheFormat.none { return true }
      // Require that the index of a parent is smaller than that of its child. Otherwise, the chain could be endless in
      // a damaged file.
      guard parent < index else { return false }
      index = parent
    }
    return false
  }

  /// Returns the index of the location of the range that contains the address: the last range that starts at or before
  /// it.
  @inline(__always)
  func locationIndex(at linkAddress: UInt64) -> UInt32? {
    guard linkAddress >= sections.base, let offset = UInt32(exactly: linkAddress - sections.base) else { return nil }
    let page = (offset >> SymbolCacheFormat.pageBits) &- sections.firstPage
    // An address below the first page needs no check here. The preceding subtraction wraps around to a page number that
    // is too large, and the look-ups return nil.
    guard
      let low = sections.pages[page], let high = sections.pages[page &+ 1],
      let next = sections.starts.upperBound(
        of: UInt8(truncatingIfNeeded: offset & SymbolCacheFormat.pageMask), from: low, to: high)
    else { return nil }
    // Use the range before `next`. It contains the address even if it starts in an earlier page, because it ends where
    // `next` starts.
    guard next > 0, let index = sections.ranges[next &- 1], index != SymbolCacheFormat.none else { return nil }
    return index
  }

  /// Returns the function, the file, the line and the column of an entry of the section `locations`.
  ///
  /// If the function was inlined, `parent` is the index of its caller's entry, else `SymbolCacheFormat.none`.
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
