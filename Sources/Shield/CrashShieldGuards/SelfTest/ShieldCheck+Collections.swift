extension ShieldCheck {
  static let collections: [ShieldCheck] = [
    ShieldCheck("an element past the end", .index) { three()[shielded: 3, line: $0] == nil },
    ShieldCheck("an element of an empty array, with a default", .index) {
      none()[shielded: -1, default: 7, line: $0] == 7
    },
    ShieldCheck("the index after the end", .index) {
      three().shieldedIndex(after: SelfTest.unknown(3), line: $0) == 3
    },
    ShieldCheck("the index before the start", .index) {
      three().shieldedIndex(before: SelfTest.unknown(0), line: $0) == 0
    },
    ShieldCheck("an index offset past the end", .index) {
      three().shieldedIndex(1, offsetBy: SelfTest.unknown(9), line: $0) == 3
    },
    ShieldCheck("a character past the end", .stringIndex) {
      let text = SelfTest.unknown("abc")
      return text[shielded: text.endIndex, line: $0] == nil
    },
    ShieldCheck("a range that extends past the end", .range) {
      three()[shielded: SelfTest.unknown(1)..<9, line: $0].elementsEqual([2, 3])
    },
    ShieldCheck("a lower bound above the upper bound", .range) {
      Range(shieldedBounds: SelfTest.unknown(5), 1, line: $0).isEmpty
    },
    ShieldCheck("an insertion past the end", .mutation) {
      var list = three()
      return !list.shieldedInsert(4, at: 4, line: $0) && list == three()
    },
    ShieldCheck("a swap with an index that is out of bounds", .mutation) {
      var list = three()
      return !list.shieldedSwapAt(0, SelfTest.unknown(3), line: $0) && list == three()
    },
    ShieldCheck("a replacement at an index that is out of bounds", .mutation) {
      var list = three()
      return !list.shieldedReplace(at: SelfTest.unknown(-1), with: 4, line: $0) && list == three()
    },
    ShieldCheck("a replacement of a range that is out of bounds", .mutation) {
      var list = three()
      return !list.shieldedReplaceSubrange(SelfTest.unknown(2)..<5, with: [], line: $0) && list == three()
    },
    ShieldCheck("removing the first element of an empty array", .mutation) {
      var list = none()
      return list.shieldedRemoveFirst(line: $0) == nil && list.isEmpty
    },
    ShieldCheck("a negative count", .capacity) {
      Array(shieldedRepeating: 1, count: SelfTest.unknown(-1), line: $0).isEmpty
    },
    ShieldCheck("a prefix of negative length", .capacity) {
      three().shieldedPrefix(SelfTest.unknown(-1), line: $0).isEmpty
    },
    ShieldCheck("dropping a negative number of elements", .capacity) {
      three().shieldedDropFirst(SelfTest.unknown(-1), line: $0).elementsEqual(three())
    },
    ShieldCheck("a duplicate key", .duplicateKey) {
      Dictionary(shieldedUniqueKeysWithValues: SelfTest.unknown([(1, "a"), (1, "b")]), line: $0) == [1: "a"]
    },
    ShieldCheck("nil among elements", .missingValue) {
      Array(shielded: SelfTest.unknown([1, nil, 3]), line: $0) == [1, 3]
    },
    ShieldCheck("bytes past the end", .memory) { line in
      // Invariant: the buffer is valid until the closure returns.
      unsafe three().withUnsafeBytes {
        unsafe $0.shieldedLoad(fromByteOffset: SelfTest.unknown(20), as: Int.self, line: line) == nil
      }
    },
  ]

  private static func three() -> [Int] { SelfTest.unknown([1, 2, 3]) }

  private static func none() -> [Int] { SelfTest.unknown([]) }
}
