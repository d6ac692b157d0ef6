import CrashReport
import CrashRing

/// Facts about the heap of the crashed process.
///
/// glibc keeps freed blocks in lists: in each thread's cache (tcache), in fast bins for small blocks, and in bins for
/// other blocks. An arena contains the heads of the bins.
struct HeapFacts: Sendable, Equatable {
  /// The word that glibc writes as the second word of a block in a tcache; nil if the process did not determine it.
  var key: UInt64?
  /// The address range of the heap that grows by brk; empty if it is unknown.
  var range: Range<UInt64> = 0..<0

  init(key: UInt64? = nil, range: Range<UInt64> = 0..<0) {
    self.key = key
    self.range = range
  }

  /// Reads the facts from the contents of a ring (the records of a process), which are untrusted input.
  init(_ facts: RingContents.MemoryFacts, end: UInt64) {
    let start = facts.heapStart ?? end
    self.init(key: facts.heapKey, range: start < end ? start..<end : 0..<0)
  }

  /// The number that one retain adds to the word with the reference count, and that one release subtracts.
  ///
  /// In a freed block, a stray retain or release changes glibc's data by this number.
  static let strongReference: UInt64 = 1 << 33
  /// The maximum number of stray retains or releases that a diagnosis is allowed to assume.
  private static let strayLimit: Int64 = 32

  /// Returns the number of stray retains that change `original` into `value`.
  ///
  /// The number is negative for releases, and nil if no number of retains results in `value`.
  static func drift(of value: UInt64, from original: UInt64) -> Int64? {
    let difference = Int64(bitPattern: value &- original)
    guard difference % Int64(strongReference) == 0 else { return nil }
    let count = difference / Int64(strongReference)
    return abs(count) <= strayLimit ? count : nil
  }

  /// Whether the first word of a block is a link of glibc: the encoded pointer to the next free block, or the encoded
  /// null pointer that ends the list.
  func leads(from block: UInt64, to word: UInt64) -> Bool {
    let next = word ^ (block >> 12)
    return next == 0 || range.contains(next) && next % 16 == 0
  }

  /// Whether the word is a link that glibc writes into a free block of the main heap.
  ///
  /// A link is the address of the next block, xor the page number of the block that contains the link. In the last
  /// block, the next address is 0, so the link is the page number alone.
  func isLink(_ word: UInt64) -> Bool {
    guard range.lowerBound < range.upperBound, range.upperBound - range.lowerBound <= Self.linkLimitBytes else {
      return false
    }
    let last = range.upperBound - 1
    let pages = range.lowerBound >> 12...last >> 12
    if pages.contains(word) { return true }
    // Compare the highest bits first, because the xor with the page number leaves the highest bits of the next block's
    // address unchanged.
    guard word >> 36 == range.lowerBound >> 36 || word >> 36 == last >> 36 else { return false }
    return pages.contains { page in
      let next = word ^ page
      return next % 16 == 0 && range.contains(next)
    }
  }

  /// The maximum size of a heap in which `isLink` recognizes links.
  ///
  /// The size is limited because the search tries each page of the heap, and because more values match by chance in a
  /// larger heap.
  private static let linkLimitBytes: UInt64 = 1 << 28

  /// Returns the address of the side table, if the second word of an object is read as a reference to a side table.
  static func sideTable(_ word: UInt64) -> UInt64 { (word & ((1 << 62) - 1)) << 3 }
}

/// The state of a memory block, according to its first two words.
///
/// The contents of these words were measured with glibc 2.36 and Swift 6.3 on x86-64.
enum BlockState: Sendable, Equatable {
  /// Freed, in a tcache, with the number of stray retains or releases after the block was freed.
  case cached(drift: Int64)
  /// Freed, in a fast bin.
  ///
  /// The first words show that the block was a Swift object.
  case fastBin
  /// Freed, and linked into a list of free blocks; the former contents are unknown.
  case listed
  /// Freed, in a bin, with pointers to glibc's arena or to neighbors in its first words.
  ///
  /// The associated value `drift` is the number of stray retains or releases that occurred after the block was freed.
  case binned(drift: Int64)
  /// Deinitialized, but not freed, because unowned references to the object remain.
  case deinitialized
  /// In use, because the memory was reused; the string describes the former or the expected contents.
  case taken(String)

  /// The maximum number of stray retains or releases that is accepted for a block in a bin.
  ///
  /// With a higher maximum, unrelated values would match by chance.
  private static let binnedStrays: Int64 = 8

  var isTaken: Bool {
    if case .taken = self { true } else { false }
  }

  /// - Parameters:
  ///   - address: The address of the block's first byte.
  ///   - words: The first two words of the block.
  ///   - heap: The facts about the heap.
  ///   - isArena: Whether an address is in the data of glibc.
  ///   - isMetadata: Whether a class can be at an address, because the address is in an image or in the heap.
  /// - Returns: The state; nil if the block is perhaps in use.
  static func of(
    _ address: UInt64, _ words: (UInt64, UInt64), heap: HeapFacts, isArena: (UInt64) -> Bool,
    isMetadata: (UInt64) -> Bool
  ) -> BlockState? {
    let (first, second) = words
    if let key = heap.key, let drift = HeapFacts.drift(of: second, from: key) { return .cached(drift: drift) }
    // The reference count of an object in deinit has three properties. The flags IsDeiniting and PureSwiftDealloc are
    // set, there are few unowned references, and there is no side table.
    let isDeiniting = second & (1 << 63 | 1 << 32 | 1) == (1 << 32 | 1) && second & 0xffff_ffff < 2_048
    let strong = second >> 33 & 0x1fff_ffff
    if isDeiniting, strong < 32 {
      if heap.leads(from: address, to: first) { return .fastBin }
      // Two small integers that the program stored can look like this reference count. A deinitialized object still
      // begins with its class, so this code also checks the first word.
      if isMetadata(first) { return .deinitialized }
    }
    // When malloc returns a block from a tcache to the program, malloc clears the second word of the block. Therefore,
    // if the second word is zero, the block is perhaps in use although the program has not written to it yet.
    if second != 0, heap.leads(from: address, to: first) { return .listed }
    func isLink(_ word: UInt64) -> Bool { isArena(word) || heap.range.contains(word) && word % 16 == 0 }
    guard isLink(first) else { return nil }
    // If one of the two words is a pointer to another free block, the block can be at the end of a bin's list. In this
    // case, the other word must point into the arena, where the list ends.
    if isLink(second), isArena(first) || isArena(second) { return .binned(drift: 0) }
    // No program writes a pointer that differs from a valid pointer by the number that a few retains add. In a large
    // heap, the changed pointer can by chance be a valid pointer. Therefore, this code excludes values that point into
    // the heap.
    guard !heap.range.contains(second), !isArena(second) else { return nil }
    let stray = (-Self.binnedStrays...Self.binnedStrays).first { count in
      count != 0 && isLink(second &- UInt64(bitPattern: count) &* HeapFacts.strongReference)
    }
    return stray.map { .binned(drift: $0) }
  }

  var text: String {
    switch self {
    case .cached(0): "freed (in a tcache)"
    case .cached(let drift): "freed (in a tcache, and \(Self.strays(drift)) since)"
    case .fastBin: "freed (in a fast bin)"
    case .listed: "freed (in a list of small blocks)"
    case .binned(0): "freed (in a bin)"
    case .binned(let drift): "freed (in a bin, and \(Self.strays(drift)) since)"
    case .deinitialized: "deinitialized"
    case .taken(let text): text
    }
  }

  private static func strays(_ drift: Int64) -> String {
    "\(drift > 0 ? "retained" : "released") \(abs(drift)) \(abs(drift) == 1 ? "time" : "times")"
  }
}
