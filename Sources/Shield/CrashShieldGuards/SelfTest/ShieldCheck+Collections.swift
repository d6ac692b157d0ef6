extension ShieldCheck {
  static let collections: [ShieldCheck] = [
    ShieldCheck("an element behind the end", .index) { three()[shielded: 3, line: $0] == nil },
    ShieldCheck("an element of nothing, with a default", .index) {
      none()[shielded: -1, default: 7, line: $0] == 7
    },
    ShieldCheck("the place behind the end", .index) {
      three().shieldedIndex(after: SelfTest.unknown(3), line: $0) == 3
    },
    ShieldCheck("the place before the start", .index) {
      three().shieldedIndex(before: SelfTest.unknown(0), line: $0) == 0
    },
    ShieldCheck("a place too far on", .index) {
      three().shieldedIndex(1, offsetBy: SelfTest.unknown(9), line: $0) == 3
    },
    ShieldCheck("a character behind the end", .stringIndex) {
      let text = SelfTest.unknown("abc")
      return text[shielded: text.endIndex, line: $0] == nil
    },
    ShieldCheck("a range that reaches over the end", .range) {
      three()[shielded: SelfTest.unknown(1)..<9, line: $0].elementsEqual([2, 3])
    },
    ShieldCheck("bounds the wrong way round", .range) {
      Range(shieldedBounds: SelfTest.unknown(5), 1, line: $0).isEmpty
    },
    ShieldCheck("an insertion behind the end", .mutation) {
      var list = three()
      return !list.shieldedInsert(4, at: 4, line: $0) && list == three()
    },
    ShieldCheck("two swapped of which one is not there", .mutation) {
      var list = three()
      return !list.shieldedSwapAt(0, SelfTest.unknown(3), line: $0) && list == three()
    },
    ShieldCheck("an element replaced that is not there", .mutation) {
      var list = three()
      return !list.shieldedReplace(at: SelfTest.unknown(-1), with: 4, line: $0) && list == three()
    },
    ShieldCheck("a part replaced that is not all there", .mutation) {
      var list = three()
      return !list.shieldedReplaceSubrange(SelfTest.unknown(2)..<5, with: [], line: $0) && list == three()
    },
    ShieldCheck("the first of nothing taken away", .mutation) {
      var list = none()
      return list.shieldedRemoveFirst(line: $0) == nil && list.isEmpty
    },
    ShieldCheck("a count below zero", .capacity) {
      Array(shieldedRepeating: 1, count: SelfTest.unknown(-1), line: $0).isEmpty
    },
    ShieldCheck("fewer than none of the first", .capacity) {
      three().shieldedPrefix(SelfTest.unknown(-1), line: $0).isEmpty
    },
    ShieldCheck("all but fewer than none of the first", .capacity) {
      three().shieldedDropFirst(SelfTest.unknown(-1), line: $0).elementsEqual(three())
    },
    ShieldCheck("a key given twice", .duplicateKey) {
      Dictionary(shieldedUniqueKeysWithValues: SelfTest.unknown([(1, "a"), (1, "b")]), line: $0) == [1: "a"]
    },
    ShieldCheck("nil among elements", .missingValue) {
      Array(shielded: SelfTest.unknown([1, nil, 3]), line: $0) == [1, 3]
    },
    ShieldCheck("bytes behind the end", .memory) { line in
      // The buffer lives as long as the closure.
      unsafe three().withUnsafeBytes {
        unsafe $0.shieldedLoad(fromByteOffset: SelfTest.unknown(20), as: Int.self, line: line) == nil
      }
    },
  ]

  private static func three() -> [Int] { SelfTest.unknown([1, 2, 3]) }

  private static func none() -> [Int] { SelfTest.unknown([]) }
}
