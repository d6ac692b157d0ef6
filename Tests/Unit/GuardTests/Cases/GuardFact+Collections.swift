import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

extension GuardFact {
  static let collections: [GuardFact] = [
    GuardFact("bytes of a Data, and of a slice of it", faults: 2) {
      let data = Data([1, 2, 3])
      return data[shielded: 2] == 3 && data[shielded: opaque(3)] == nil && data[1...][shielded: opaque(0)] == nil
    },
    GuardFact("a character outside a Substring, but inside its string", faults: 1) {
      let text = opaque("abcdef")
      let part = text.dropFirst(2).dropLast(2)
      return part[shielded: part.startIndex] == "c" && part[shielded: text.startIndex] == nil
    },
    GuardFact("a position within a scalar is rounded down") {
      let text = opaque("é")
      return text[shielded: text.utf8.index(after: text.startIndex)] == "é"
    },
    GuardFact("an index of a longer text in an empty text", faults: 1) {
      opaque("")[shielded: opaque("abc").index(after: "abc".startIndex)] == nil
    },
    GuardFact("a length that extends a range beyond Int.max", faults: 1) {
      let range = NSRange(location: 1, length: opaque(Int.max))
      return ("abc" as NSString).shieldedSubstring(with: range) == "bc"
    },
    GuardFact("an empty range at the end, the complete range, and an empty array's range") {
      let none: [Int] = []
      return three[shielded: opaque(3)..<3].isEmpty && three[shielded: 0..<opaque(3)] == [1, 2, 3]
        && none[shielded: 0..<opaque(0)].isEmpty && three.shieldedExactly(1..<opaque(3)) == [2, 3]
    },
    GuardFact("half of a character of an NSString is a valid range") {
      ("🇪🇺" as NSString).shieldedSubstring(with: NSRange(location: 1, length: 1)).utf16.count == 1
    },
    GuardFact("an insertion at the end is valid") {
      var array = opaque(three)
      return array.shieldedInsert(4, at: opaque(3)) && array == [1, 2, 3, 4]
    },
    GuardFact("a change in place does not copy the array") {
      var array = Array(0..<opaque(100))
      let before = unsafe array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
      array.shieldedReplace(at: opaque(5), with: 0)
      array.shieldedSwapAt(opaque(1), 2)
      array.shieldedRemove(at: opaque(50))
      let after = unsafe array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
      return before == after && array.count == 99
    },
    GuardFact("counts of zero, and up to the limit") {
      var array = opaque(three)
      array.shieldedReserveCapacity(opaque(10), limit: 10)
      return [Int](shieldedRepeating: 1, count: opaque(0)).isEmpty && array.capacity >= 10
        && [Int](shieldedRepeating: 1, count: opaque(3), limit: 3) == [1, 1, 1]
        && three.shieldedPrefix(opaque(0)).isEmpty
        && three.shieldedRemovingLast(0) == three
    },
    GuardFact("a count above its limit, and one beyond the available memory", faults: 2) {
      [Int](shieldedRepeating: 1, count: opaque(4), limit: 3).isEmpty
        && [Int](shieldedRepeating: 1, count: opaque(Int.max)).isEmpty
    },
    GuardFact("keys that are all different") {
      Dictionary(shieldedUniqueKeysWithValues: (0..<opaque(9)).map { ($0, $0) }).count == 9
    },
    GuardFact("keys that are all the same: one record, with their number", faults: 1) {
      let pairs = (0..<opaque(9)).map { (1, $0) }
      return Dictionary(shieldedUniqueKeysWithValues: pairs) == [1: 0]
        && Shield.guardIncidents.map(\.reason) == ["8 duplicate keys of Int"]
    },
    GuardFact("assigning nil for a key removes the key") {
      var table = opaque([1: "a"])
      table[1] = nil
      return table.isEmpty
    },
    GuardFact("valid elements, among them optionals that are nil") {
      Array(shielded: [opaque(1), 2] as [Int?]) == [1, 2] && Array<Int?>(shielded: [Int??.some(nil)]) == [nil]
    },
    GuardFact("a valid buffer, its elements, and a buffer without an address", faults: 2) {
      let isRight = unsafe three.withUnsafeBufferPointer { buffer in
        unsafe Array(shielded: buffer) == three && buffer[shielded: 2] == 3 && buffer[shielded: opaque(3)] == nil
      }
      // Invariant: nothing is read, because the buffer is empty and has no address.
      let none = unsafe UnsafeBufferPointer<Int>(start: nil, count: 0)
      let isNone = unsafe Array(shielded: none).isEmpty
      return isRight && isNone && Shield.guardIncidents.count == 1 && three[shielded: opaque(9)] == nil
    },
  ]
}

extension Array {
  fileprivate func shieldedRemovingLast(_ count: Int) -> Self {
    var copy = self
    copy.shieldedRemoveLast(count)
    return copy
  }
}
