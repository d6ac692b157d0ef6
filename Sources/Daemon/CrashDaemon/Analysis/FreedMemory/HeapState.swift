import CrashReport
import CrashRing

/// Facts about the heap of the crashed process.
struct HeapFacts: Sendable, Equatable {
  /// The second word that glibc writes into a block in a tcache; nil where the process did not determine it.
  var key: UInt64?
  /// The range of the heap that grows by brk; empty when unknown.
  var range: Range<UInt64> = 0..<0

  init(key: UInt64? = nil, range: Range<UInt64> = 0..<0) {
    self.key = key
    self.range = range
  }

  /// Reads untrusted facts of a ring.
  init(_ facts: RingContents.MemoryFacts, end: UInt64) {
    let start = facts.heapStart ?? end
    self.init(key: facts.heapKey, range: start < end ? start..<end : 0..<0)
  }

  /// A stray retain or release moves a reference count by this; in a freed block it moves glibc's data.
  static let strongReference: UInt64 = 1 << 33
  /// The limit of stray ones in an explanation.
  private static let strayLimit: Int64 = 32

  /// The number of stray retains (or releases, below 0) that turn `original` into `value`; nil when none do.
  static func drift(of value: UInt64, from original: UInt64) -> Int64? {
    let difference = Int64(bitPattern: value &- original)
    guard difference % Int64(strongReference) == 0 else { return nil }
    let count = difference / Int64(strongReference)
    return abs(count) <= strayLimit ? count : nil
  }

  /// Whether the first word of a block is glibc's link to the next free one, or to none.
  func leads(from block: UInt64, to word: UInt64) -> Bool {
    let next = word ^ (block >> 12)
    return next == 0 || range.contains(next) && next % 16 == 0
  }

  /// Whether the word is glibc's link to the next free block of the heap: the next one's address xor its own page's
  /// number, which alone is the link of the last one.
  func isLink(_ word: UInt64) -> Bool {
    guard range.lowerBound < range.upperBound, range.upperBound - range.lowerBound <= Self.linkLimitBytes else {
      return false
    }
    let last = range.upperBound - 1
    let pages = range.lowerBound >> 12...last >> 12
    if pages.contains(word) { return true }
    // The page's number has none of the next one's highest bits.
    guard word >> 36 == range.lowerBound >> 36 || word >> 36 == last >> 36 else { return false }
    return pages.contains { page in
      let next = word ^ page
      return next % 16 == 0 && range.contains(next)
    }
  }

  /// Larger heaps are not searched: a link proves less there, and the search tries each page.
  private static let linkLimitBytes: UInt64 = 1 << 28

  /// The address of the side table, if a second word of an object is taken as one.
  static func sideTable(_ word: UInt64) -> UInt64 { (word & ((1 << 62) - 1)) << 3 }
}

/// The state of a block by its first two words: measured for glibc 2.36 and Swift 6.3 on x86-64.
enum BlockState: Sendable, Equatable {
  /// Freed, in a thread's cache; with stray retains or releases since.
  case cached(drift: Int64)
  /// Freed, in a fast bin; it was a Swift object.
  case fastBin
  /// Freed, in a list; its former content is unknown.
  case listed
  /// Freed, in a bin, with glibc's arena or neighbors in its first words; with stray retains or releases since.
  case binned(drift: Int64)
  /// Deinitialized, and not freed: unowned references remain.
  case deinitialized
  /// In use by other code; the text describes the earlier or expected content.
  case taken(String)

  /// A higher limit would accept more values.
  private static let binnedStrays: Int64 = 8

  var isTaken: Bool {
    if case .taken = self { true } else { false }
  }

  /// - Parameters:
  ///   - address: The address of the block's first byte.
  ///   - words: Its first two words.
  ///   - heap: The heap's facts.
  ///   - isArena: Whether an address is in glibc's own data.
  ///   - isMetadata: Whether a class can be at an address: in an image or in the heap.
  /// - Returns: Nil when it may be in use.
  static func of(
    _ address: UInt64, _ words: (UInt64, UInt64), heap: HeapFacts, isArena: (UInt64) -> Bool,
    isMetadata: (UInt64) -> Bool
  ) -> BlockState? {
    let (first, second) = words
    if let key = heap.key, let drift = HeapFacts.drift(of: second, from: key) { return .cached(drift: drift) }
    // IsDeiniting, PureSwiftDealloc, a few unowned references, no side table.
    let isDeiniting = second & (1 << 63 | 1 << 32 | 1) == (1 << 32 | 1) && second & 0xffff_ffff < 2_048
    let strong = second >> 33 & 0x1fff_ffff
    if isDeiniting, strong < 32 {
      if heap.leads(from: address, to: first) { return .fastBin }
      // Two small integers look like such a count; a deinitialized object still begins with its class.
      if isMetadata(first) { return .deinitialized }
    }
    // malloc clears the second word of a block from a tcache: the block may be in use, and not written yet.
    if second != 0, heap.leads(from: address, to: first) { return .listed }
    func isLink(_ word: UInt64) -> Bool { isArena(word) || heap.range.contains(word) && word % 16 == 0 }
    guard isLink(first) else { return nil }
    // One link may point at another block, but the list ends in the arena.
    if isLink(second), isArena(first) || isArena(second) { return .binned(drift: 0) }
    // No program writes a pointer that is off by some retains; in a large heap it may be a valid one, though.
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
