import CLibdw
public import CrashSymbols

/// Builds the symbol cache of an ELF image.
public enum SymbolCacheBuilder: Sendable {
  /// The reason why there is no cache.
  public enum Failure: Error, Sendable, Equatable {
    /// The image cannot be used, for the given reason, which is one line for people.
    case badImage(String)
    /// The image does not have the requested build id.
    case wrongBuildID(expected: String, found: String)
    /// The cache could not be written. The number is the errno.
    case write(Int32)
  }

  /// Reads the image open as `image`, and writes its cache into the file open as `output`.
  ///
  /// Building the cache takes about a second for a server of 150 MB. The C code reads the debug information only once.
  /// The parameter `buildID` is the required build id, in lower-case hexadecimal digits. An empty `buildID` accepts any
  /// image, even one without a build id. The parameter `addresses` contains the link addresses that the cache must
  /// contain. If it is nil, the cache covers the whole image. Building a partial cache takes a fifth of the time for
  /// the whole image.
  public static func build(
    image: Int32, buildID: String, addresses: [UInt64]? = nil, output: Int32
  ) throws(Failure) {
    try write(contents(image: image, buildID: buildID, addresses: addresses), to: output)
  }

  /// Returns the tables of the cache without writing them.
  public static func contents(
    image descriptor: Int32, buildID: String, addresses: [UInt64]? = nil
  ) throws(Failure) -> SymbolCacheContents {
    let image = try OpenImage(descriptor, buildID: buildID)
    defer { image.close() }
    var problem = cs_image_problem()
    var symbols = unsafe cs_symbols()
    guard unsafe read(image.pointer, addresses, &symbols, &problem) else {
      throw .badImage(OpenImage.text(of: problem))
    }
    var contents = unsafe contents(of: symbols, buildID: image.buildID)
    contents.isPartial = addresses != nil
    // Invariant: the string belongs to the image, which is still open.
    if let link = unsafe symbols.debug_link { contents.debugLink = unsafe String(cString: link) }
    return contents
  }

  private static func read(
    _ image: OpaquePointer, _ addresses: [UInt64]?, _ symbols: inout cs_symbols, _ problem: inout cs_image_problem
  ) -> Bool {
    // Invariant: all arguments outlive the calls, which do not keep pointers.
    guard let sorted = addresses?.sorted() else {
      return unsafe cs_image_read_symbols(image, nil, &symbols, &problem)
    }
    return unsafe sorted.withUnsafeBufferPointer { buffer in
      var list = unsafe cs_addresses(items: buffer.baseAddress, count: buffer.count)
      return unsafe cs_image_read_symbols(image, &list, &symbols, &problem)
    }
  }

  /// Copies the tables from the memory of the C code.
  private static func contents(of symbols: cs_symbols, buildID: [UInt8]) -> SymbolCacheContents {
    // Invariant: each pointer is NULL with a count of 0, or points to `count` items that consist of 32-bit words.
    unsafe SymbolCacheContents(
      base: symbols.base, buildID: buildID,
      ranges: words(symbols.ranges, count: symbols.range_count),
      locations: words(symbols.locations, count: symbols.location_count),
      contexts: words(symbols.contexts, count: symbols.context_count), functions: functions(of: symbols),
      strings: Array(UnsafeRawBufferPointer(start: symbols.strings, count: symbols.strings_bytes)),
      hasDebugInformation: symbols.has_debug_info, isIncomplete: symbols.debug_info_damaged)
  }

  /// Returns the functions in the tables of the cache.
  ///
  /// If the name of a function cannot be demangled, the function gets no name.
  ///
  /// crashd demangles only names from a symbol cache. This process demangles each name first. This ensures that a name
  /// which makes the demangler crash or hang does not reach crashd.
  private static func functions(of symbols: cs_symbols) -> [UInt32] {
    var functions = unsafe words(symbols.functions, count: symbols.function_count)
    for index in stride(from: 0, to: functions.count, by: 4) where functions[index] != 0 {
      // Invariant: names are offsets of NUL-terminated strings in the table.
      let name = unsafe String(cString: symbols.strings + Int(functions[index]))
      if !Demangler.isReasonable(name) { functions[index] = 0 }
    }
    return functions
  }

  private static func words<Item>(_ items: UnsafePointer<Item>?, count: Int) -> [UInt32] {
    // Invariant: the structures consist only of 32-bit words, and the header asserts their sizes.
    let bytes = unsafe UnsafeRawBufferPointer(start: items, count: count * MemoryLayout<Item>.stride)
    return unsafe Array(bytes.bindMemory(to: UInt32.self))
  }

  private static func write(_ contents: SymbolCacheContents, to descriptor: Int32) throws(Failure) {
    do throws(SymbolCacheWriter.Failure) {
      try SymbolCacheWriter.write(contents, to: descriptor)
    } catch {
      switch error {
      case .tooLarge: throw .badImage("the image has more symbols than a cache may hold")
      case .write(let code): throw .write(code)
      }
    }
  }
}
