// These cases contain faults on purpose, which guards must detect.
// swift-format-ignore-file: NeverForceUnwrap
import CrashShield
import CrashShieldGuards
import Glibc

extension GuardCase {
  static let collections: [GuardCase] = [
    GuardCase("an element past the end", .index, plain: { use(opaque(three)[opaque(3)]) }) {
      three[shielded: opaque(3)] == nil
    },
    GuardCase("an element before the start", .index, plain: { use(opaque(three)[opaque(-1)]) }) {
      three[shielded: opaque(-1), default: 7] == 7
    },
    GuardCase("an element of a slice by an array's index", .index, plain: { use(opaque(three[1...])[opaque(0)]) }) {
      three[1...][shielded: opaque(0)] == nil
    },
    GuardCase("an element at Int.max of an empty array", .index, plain: { use(opaque([Int]())[opaque(Int.max)]) }) {
      [Int]()[shielded: opaque(Int.max)] == nil
    },
    GuardCase("an element of a lazy, reversed collection", .index, plain: { use(opaque(three[...])[opaque(9)]) }) {
      three.lazy.map { $0 * 2 }[shielded: opaque(9), default: -1] == -1
    },
    GuardCase(
      "the character at a string's end index", .stringIndex, plain: { use(opaque("abc")[opaque("abc".endIndex)]) }
    ) {
      opaque("abc")[shielded: "abc".endIndex] == nil
    },
    GuardCase("a character by an index of a longer string", .stringIndex, plain: { use(opaque("a")[opaque(stale)]) }) {
      opaque("a")[shielded: stale] == nil
    },
    GuardCase("a substring by bounds of a longer string", .stringIndex, plain: { use(opaque("ab")[opaque(far)]) }) {
      opaque("ab")[shielded: far] == "b"
    },
    GuardCase(
      "an index offset past the end of a string", .stringIndex,
      plain: { use("ab".index("ab".startIndex, offsetBy: opaque(9))) }
    ) {
      "ab".shieldedIndex("ab".startIndex, offsetBy: opaque(9)) == "ab".endIndex
    },
    GuardCase(
      "a range that starts inside and ends past the end", .range, plain: { use(opaque(three)[opaque(1)..<opaque(9)]) }
    ) {
      three[shielded: opaque(1)..<9] == [2, 3]
    },
    GuardCase("a range entirely past the end", .range, plain: { use(opaque(three)[opaque(7)..<opaque(9)]) }) {
      three[shielded: opaque(7)..<9].isEmpty
    },
    GuardCase("a closed range up to Int.max", .range, plain: { use(opaque(three)[opaque(1)...opaque(Int.max - 1)]) }) {
      three[shielded: opaque(1)...Int.max] == [2, 3]
    },
    GuardCase("a partial range through Int.max", .range, plain: { use(opaque(three)[...opaque(Int.max)]) }) {
      three[shielded: ...opaque(Int.max)] == [1, 2, 3]
    },
    GuardCase("a partial range from a negative index", .range, plain: { use(opaque(three)[opaque(-1)...]) }) {
      three[shielded: opaque(-1)...] == [1, 2, 3]
    },
    GuardCase("a partial range up to an index past the end", .range, plain: { use(opaque(three)[..<opaque(4)]) }) {
      three[shielded: ..<opaque(4)] == [1, 2, 3]
    },
    GuardCase("a range that must be complete", .range, plain: { use(opaque(three)[opaque(1)..<opaque(4)]) }) {
      three.shieldedExactly(opaque(1)..<4) == nil
    },
    GuardCase("bounds in the wrong order", .range, plain: { use(opaque(5)..<opaque(1)) }) {
      Range(shieldedBounds: opaque(5), opaque(1)) == 5..<5
    },
    GuardCase("closed bounds in the wrong order", .range, plain: { use(opaque(5)...opaque(1)) }) {
      ClosedRange(shieldedBounds: opaque(5), opaque(1)) == nil
    },
    GuardCase("a write past the end", .mutation, plain: { changed { $0[opaque(3)] = 0 } }) {
      unchanged { !$0.shieldedReplace(at: opaque(3), with: 0) }
    },
    GuardCase("a swap with an invalid index", .mutation, plain: { changed { $0.swapAt(0, opaque(3)) } }) {
      unchanged { !$0.shieldedSwapAt(0, opaque(3)) }
    },
    GuardCase("an insertion past the end", .mutation, plain: { changed { $0.insert(0, at: opaque(4)) } }) {
      unchanged { !$0.shieldedInsert(0, at: opaque(4)) }
    },
    GuardCase("a removal at an invalid index", .mutation, plain: { changed { $0.remove(at: opaque(-1)) } }) {
      unchanged { $0.shieldedRemove(at: opaque(-1)) == nil }
    },
    GuardCase(
      "a replacement of an invalid range", .mutation,
      plain: { changed { $0.replaceSubrange(2..<opaque(5), with: []) } }
    ) {
      unchanged { !$0.shieldedReplaceSubrange(2..<opaque(5), with: []) }
    },
    GuardCase("the first element removed from an empty array", .mutation, plain: { changed([]) { $0.removeFirst() } }) {
      unchanged([]) { $0.shieldedRemoveFirst() == nil }
    },
    GuardCase("the last element removed from an empty array", .mutation, plain: { changed([]) { $0.removeLast() } }) {
      unchanged([]) { $0.shieldedRemoveLast() == nil }
    },
    GuardCase("the first four elements removed from three", .mutation, plain: { changed { $0.removeFirst(opaque(4)) } })
    {
      changedBy { $0.shieldedRemoveFirst(opaque(4)) == [1, 2, 3] && $0.isEmpty }
    },
    GuardCase("the last four elements removed from three", .mutation, plain: { changed { $0.removeLast(opaque(4)) } }) {
      changedBy { $0.shieldedRemoveLast(opaque(4)) == [1, 2, 3] && $0.isEmpty }
    },
    GuardCase("an element that is not in a set", .mutation, plain: { changedSet { $0.remove(at: $0.endIndex) } }) {
      var set = opaque(Set(three))
      return set.shieldedRemove(4) == nil && set.shieldedRemove(3) == 3 && set == [1, 2]
    },
    GuardCase("the first element removed from an empty set", .mutation, plain: { changedSet([]) { $0.removeFirst() } })
    {
      var set = opaque(Set<Int>())
      return set.shieldedRemoveFirst() == nil
    },
    GuardCase("the first element of an empty set, unwrapped", .unwrap, plain: { use(opaque(Set<Int>()).first!) }) {
      opaque(Set<Int>()).shieldedFirst(or: 7) == 7
    },
    GuardCase("a key that is not in a dictionary", .mutation, plain: { changedTable { $0.remove(at: $0.endIndex) } }) {
      var table = opaque([1: "a"])
      return table.shieldedRemove(2) == nil && table == [1: "a"] && table.shieldedRemove(1) == "a"
    },
    GuardCase("a Character from an empty text", .conversion, plain: { use(Character(opaque(""))) }) {
      Character(shielded: opaque(""), or: "?") == "?"
    },
    GuardCase(
      "a repeated element, more often than memory allows", .capacity, SIGABRT,
      plain: { use([Int](repeating: 1, count: opaque(Int.max / 16))) }
    ) {
      [Int](shieldedRepeating: 1, count: opaque(Int.max / 16)).isEmpty
    },
    GuardCase(
      "a repeated element, with a negative count", .capacity, plain: { use([Int](repeating: 1, count: opaque(-1))) }
    ) {
      [Int](shieldedRepeating: 1, count: opaque(-1)).isEmpty
    },
    GuardCase(
      "a capacity beyond the address space", .capacity, SIGABRT,
      plain: { changed { $0.reserveCapacity(opaque(Int.max / 16)) } }
    ) {
      unchanged { array in array.shieldedReserveCapacity(opaque(Int.max / 16), limit: 10) == () }
    },
    GuardCase("a capacity beyond the limit", .capacity, nil, plain: {}) {
      let isAbsorbing = Shield.mode(for: .capacity) == .absorb
      return unchanged { array in
        array.shieldedReserveCapacity(opaque(1100), limit: 1000)
        // In the modes in which the guard does not absorb, the call reserves the capacity.
        return (array.capacity < 1100) == isAbsorbing
      }
    },
    GuardCase("a prefix of negative length", .capacity, plain: { use(opaque(three).prefix(opaque(-1))) }) {
      three.shieldedPrefix(opaque(-1)).isEmpty
    },
    GuardCase("dropFirst with a negative count", .capacity, plain: { use(opaque(three).dropFirst(opaque(-1))) }) {
      Array(three.shieldedDropFirst(opaque(-1))) == three
    },
    GuardCase("a suffix of negative length", .capacity, plain: { use(opaque(three).suffix(opaque(-1))) }) {
      three.shieldedSuffix(opaque(-1)).isEmpty
    },
    GuardCase("dropLast with a negative count", .capacity, plain: { use(opaque(three).dropLast(opaque(-1))) }) {
      Array(three.shieldedDropLast(opaque(-1))) == three
    },
    GuardCase("a duplicate key", .duplicateKey, plain: { use(Dictionary(uniqueKeysWithValues: pairs)) }) {
      Dictionary(shieldedUniqueKeysWithValues: pairs) == [1: "a", 2: "c"]
    },
    GuardCase(
      "a duplicate key, keeping the last value", .duplicateKey, plain: { use(Dictionary(uniqueKeysWithValues: pairs)) }
    ) {
      Dictionary(shieldedUniqueKeysWithValues: pairs, onDuplicate: .keepLast) == [1: "b", 2: "c"]
    },
    GuardCase("nil among the elements", .missingValue, nil, plain: {}) {
      Array(shielded: [opaque(1), nil, 2]) == [1, 2]
    },
    GuardCase("nil among keys and values", .missingValue, nil, plain: {}) {
      Dictionary(shielded: [(1, "a"), (nil, "b"), (3, nil)] as [(Int?, String?)]) == [1: "a"]
    },
  ]

  private static let pairs = opaque([(1, "a"), (1, "b"), (2, "c")])
  private static let stale = "abcdef".index("abcdef".startIndex, offsetBy: 5)
  private static let far = "abcdef".index(after: "abcdef".startIndex)..<"abcdef".endIndex
}

private func changed(_ array: [Int] = three, _ body: (inout [Int]) -> Void) {
  var array = opaque(array)
  body(&array)
  use(array)
}

private func unchanged(_ array: [Int] = three, _ body: (inout [Int]) -> Bool) -> Bool {
  var copy = opaque(array)
  return body(&copy) && copy == array
}

private func changedSet(_ set: Set<Int> = [1, 2, 3], _ body: (inout Set<Int>) -> Void) {
  var set = opaque(set)
  body(&set)
  use(set)
}

private func changedTable(_ body: (inout [Int: String]) -> Void) {
  var table = opaque([1: "a"])
  body(&table)
  use(table)
}

private func changedBy(_ body: (inout [Int]) -> Bool) -> Bool {
  var copy = opaque(three)
  return body(&copy)
}
