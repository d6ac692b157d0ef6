import CrashReport
import CrashRing

/// Facts about the heap of the crashed process.
struct HeapFacts: Sendable, Equatable {
  /// The second word that glibc writes into a block in a tcache; nil if the process did not determine the word.
  var key: UInt64?
  /// The range of the heap that grows by brk; empty if it is unknown.
  var range: Range<UInt64> = 0..<0

  init(key: UInt64? = nil, range: Range<UInt64> = 0..<0) {
    self.key = key
    self.range = range
  }

  /// Makes the facts from a ring, which is untrusted.
  init(_ facts: RingContents.MemoryFacts, end: UInt64) {
    let start = facts.heapStart ?? end
    self.init(key: facts.heapKey, range: start < end ? start..<end : 0..<0)
  }

  /// The amount by which one retain or release changes the reference count.
  ///
  /// In a freed block, a stray retain or release changes glibc's data by this amount.
  static let strongReference: UInt64 = 1 << 33
  /// The limit of stray retains or releases in an explanation.
  private static let strayLimit: Int64 = 32

  /// The number of stray retains that turn `original` into `value`, negative for releases; nil if no number does.
  static func drift(of value: UInt64, from original: UInt64) -> Int64? {
    let difference = Int64(bitPattern: value &- original)
    guard difference % Int64(strongReference) == 0 else { return nil }
    let count = difference / Int64(strongReference)
    return abs(count) <= strayLimit ? count : nil
  }

  /// Whether the first word of a block is glibc's link to the next free block, or the link of the last block.
  func leads(from block: UInt64, to word: UInt64) -> Bool {
    let next = word ^ (block >> 12)
    return next == 0 || range.contains(next) && next % 16 == 0
  }

  /// Whether the word is glibc's link to the next free block of the heap.
  ///
  /// The link is the address of the next block xor the page number of the block. The link of the last block is the page
  /// number alone.
  func isLink(_ word: UInt64) -> Bool {
    guard range.lowerBound < range.upperBound, range.upperBound - range.lowerBound <= Self.linkLimitBytes else {
      return false
    }
    let last = range.upperBound - 1
    let pages = range.lowerBound >> 12...last >> 12
    if pages.contains(word) { return true }
    // The page number does not change the highest bits of the next block's address.
    guard word >> 36 == range.lowerBound >> 36 || word >> 36 == last >> 36 else { return false }
    return pages.contains { page in
      let next = word ^ page
      return next % 16 == 0 && range.contains(next)
    }
  }

  /// Larger heaps are not searched, because a link proves less in them and because the search tries each page.
  private static let linkLimitBytes: UInt64 = 1 << 28

  /// The address that results if the second word of an object is interpreted as a side table.
  static func sideTable(_ word: UInt64) -> UInt64 { (word & ((1 << 62) - 1)) << 3 }
}

/// The state of a block, as its first two words show it.
///
/// Measured for glibc 2.36 and Swift 6.3 on x86-64.
enum BlockState: Sendable, Equatable {
  /// Freed, in a thread's cache, with the number of stray retains or releases since then.
  case cached(drift: Int64)
  /// Freed, in a fast bin.
  ///
  /// The block was a Swift object.
  case fastBin
  /// Freed, in a list.
  ///
  /// The former content is unknown.
  case listed
  /// Freed, in a bin, with pointers to glibc's arena or to neighbors in its first words, and with the number of stray
  /// retains or releases since then.
  case binned(drift: Int64)
  /// Deinitialized and not freed, because unowned references remain.
  case deinitialized
  /// In use by other code.
  ///
  /// The text describes the earlier or expected content.
  case taken(String)

  /// The limit of stray retains or releases in a bin.
  ///
  /// A higher limit would accept unrelated values.
  private static let binnedStrays: Int64 = 8

  var isTaken: Bool {
    if case .taken = self { true } else { false }
  }

  /// - Parameters:
  ///   - address: The address of the block's first byte.
  ///   - words: The first two words of the block.
  ///   - heap: The facts about the heap.
  ///   - isArena: Whether an address is in glibc's data.
  ///   - isMetadata: Whether a class can be at an address, because it is in an image or in the heap.
  /// - Returns: The state; nil if the block may be in use.
  static func of(
    _ address: UInt64, _ words: (UInt64, UInt64), heap: HeapFacts, isArena: (UInt64) -> Bool,
    isMetadata: (UInt64) -> Bool
  ) -> BlockState? {
    let (first, second) = words
    if let key = heap.key, let drift = HeapFacts.drift(of: second, from: key) { return .cached(drift: drift) }
    // The reference count of an object in deinit: the flags IsDeiniting and PureSwiftDealloc, few unowned references,
    // no side table.
    let isDeiniting = second & (1 << 63 | 1 << 32 | 1) == (1 << 32 | 1) && second & 0xffff_ffff < 2_048
    let strong = second >> 33 & 0x1fff_ffff
    if isDeiniting, strong < 32 {
      if heap.leads(from: address, to: first) { return .fastBin }
      // Two small integers look like such a count. A deinitialized object still begins with its class, so the first
      // word decides.
      if isMetadata(first) { return .deinitialized }
    }
    // malloc clears the second word of a block from a tcache. If this word is zero, the block may be in use and not
    // written yet.
    if second != 0, heap.leads(from: address, to: first) { return .listed }
    func isLink(_ word: UInt64) -> Bool { isArena(word) || heap.range.contains(word) && word % 16 == 0 }
    guard isLink(first) else { return nil }
    // One word may point at another block, but one of the two must point into the arena, where the list ends.
    if isLink(second), isArena(first) || isArena(second) { return .binned(drift: 0) }
    // No program writes a pointer that is off by some retains. In a large heap, such a value may be a valid pointer, so
    // these are excluded.
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
