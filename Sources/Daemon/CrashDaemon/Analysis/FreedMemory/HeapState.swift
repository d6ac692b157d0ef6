import CrashReport
import CrashRing

/// What is known of the dead process's heap.
struct HeapFacts: Sendable, Equatable {
  /// What glibc writes into the second word of a block that lies in a tcache; nil where the process did not find it out.
  var key: UInt64?
  /// Where the heap that grows by brk was; empty when not known.
  var range: Range<UInt64> = 0..<0

  init(key: UInt64? = nil, range: Range<UInt64> = 0..<0) {
    self.key = key
    self.range = range
  }

  /// What a ring says of it, which may be anything.
  init(_ facts: RingContents.MemoryFacts, end: UInt64) {
    let start = facts.heapStart ?? end
    self.init(key: facts.heapKey, range: start < end ? start..<end : 0..<0)
  }

  /// Each stray retain or release moves a reference count by this; done to a freed block, it moves what glibc keeps there.
  static let strongReference: UInt64 = 1 << 33
  /// More stray ones than this are no explanation any more.
  private static let strayLimit: Int64 = 32

  /// How many stray retains (or releases, below 0) make `value` of `original`; nil when none do.
  static func drift(of value: UInt64, from original: UInt64) -> Int64? {
    let difference = Int64(bitPattern: value &- original)
    guard difference % Int64(strongReference) == 0 else { return nil }
    let count = difference / Int64(strongReference)
    return abs(count) <= strayLimit ? count : nil
  }

  /// Whether the first word of a block is a pointer to the next free one, or to none, as glibc writes them.
  func leads(from block: UInt64, to word: UInt64) -> Bool {
    let next = word ^ (block >> 12)
    return next == 0 || range.contains(next) && next % 16 == 0
  }

  /// Whether this is how glibc writes the pointer to the next free block into one of the heap: the next one's address
  /// xor its own page's number, which is all there is in the last one.
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

  /// Larger heaps are not searched: there a link says less, and each page is tried.
  private static let linkLimitBytes: UInt64 = 1 << 28

  /// Where Swift's runtime looks for the side table, when it takes a second word of an object for one.
  static func sideTable(_ word: UInt64) -> UInt64 { (word & ((1 << 62) - 1)) << 3 }
}

/// What the first two words of a block show of it: measured states of glibc 2.36 and Swift 6.3 on x86-64.
enum BlockState: Sendable, Equatable {
  /// Freed and kept in a thread's cache; with stray retains or releases since.
  case cached(drift: Int64)
  /// Freed and kept in a fast bin; it was a Swift object.
  case fastBin
  /// Freed and kept in a list; what it was is not known.
  case listed
  /// Freed and kept in a bin: glibc's arena, or neighbours, are in its first words; with stray retains or releases since.
  case binned(drift: Int64)
  /// Deinitialized, and not freed: something still refers to it unowned.
  case deinitialized
  /// In use by other code: what there was before, or should be, says the text.
  case taken(String)

  /// Each more makes more values possible ones.
  private static let binnedStrays: Int64 = 8

  var isTaken: Bool {
    if case .taken = self { true } else { false }
  }

  /// - Parameters:
  ///   - address: Of the block's first byte.
  ///   - words: Its first two.
  ///   - heap: The heap's facts.
  ///   - isArena: Whether an address lies in glibc's own data.
  ///   - isMetadata: Whether a class may stand at an address: in an image or in the heap.
  /// - Returns: nil when it may well be in use.
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
    // malloc clears the second word of what it takes out of a tcache: then the block may be in use, and not yet written.
    if second != 0, heap.leads(from: address, to: first) { return .listed }
    func isLink(_ word: UInt64) -> Bool { isArena(word) || heap.range.contains(word) && word % 16 == 0 }
    guard isLink(first) else { return nil }
    // One link may lead to another block, but the list ends in the arena.
    if isLink(second), isArena(first) || isArena(second) { return .binned(drift: 0) }
    // A pointer that is off by some retains is what no program writes; in a large heap it may be a good one, too.
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
