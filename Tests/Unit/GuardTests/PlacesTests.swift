import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests guards of collections without random access, with valid and with invalid arguments.
@Suite
struct PlacesTests {
  @Test("guarded index steps and slices within a string give the same results as the plain operations")
  func within() {
    same("a\u{E9}\r\n🇪🇺e\u{301}z")
    same("a\u{E9}\r\n🇪🇺e\u{301}z".unicodeScalars)
    same("a\u{E9}\r\n🇪🇺e\u{301}z".utf8)
    same([1, 2, 3][1...])
    same([1, 2, 3].reversed())
    same("")
  }

  @Test("a guarded index outside a collection is clamped, and a slice has the valid part")
  func outside() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let slice = [1, 2, 3, 4][1..<3]
      let answers = [
        slice.shieldedIndex(after: 0) == 1, slice.shieldedIndex(after: -7) == 1, slice.shieldedIndex(after: 3) == 3,
        slice.shieldedIndex(after: .max) == 3, slice.shieldedIndex(before: 1) == 1,
        slice.shieldedIndex(before: .min) == 1, slice.shieldedIndex(before: 9) == 3,
        slice.shieldedIndex(1, offsetBy: .max) == 3, slice.shieldedIndex(3, offsetBy: .min) == 1,
        slice.shieldedIndex(9, offsetBy: -1) == 1, slice[shieldedBounds: 0, 9] == [2, 3],
        slice[shieldedBounds: .max, .min].isEmpty, slice[shieldedBounds: 2, 1].startIndex == 2,
      ]
      guard !answers.contains(false) else { complain("\(answers)") }
      Glibc.exit(right)
    }
  }

  @Test("a guarded change of an element is in place, without a copy of its buffer")
  func inPlace() {
    // Creates the lists at run time, because the buffers of constants are shared, and the first change would copy them.
    var lists = (0..<opaque(2)).map { list in (1...opaque(2)).map { 2 * list + $0 } }
    // Compares the addresses only, and reads no memory through them.
    let before = unsafe lists[1].withUnsafeBufferPointer { unsafe $0.baseAddress.map(UInt.init(bitPattern:)) }
    let old = lists.shieldedUpdate(at: 1) { list in
      list[0] += 7
      return list.count
    }
    let after = unsafe lists[1].withUnsafeBufferPointer { unsafe $0.baseAddress.map(UInt.init(bitPattern:)) }
    #expect(old == 2 && lists == [[1, 2], [10, 4]] && before == after)
  }

  @Test("an error of a guarded change is thrown, and changes before the error stay")
  func thrown() {
    var numbers = [1, 2]
    #expect(throws: ShieldFault.leaked) {
      try numbers.shieldedUpdate(at: 0) { (number) throws(ShieldFault) in
        number = 5
        throw ShieldFault.leaked
      }
    }
    #expect(numbers == [5, 2])
  }

  @Test(
    "the record's reason is the message of the check or the unreachable call, unless the message contains values")
  func words() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let isRight = Self.wordy()
      let reasons = Set(Shield.guardIncidents.map(\.reason))
      guard isRight, reasons == ["a key has a value", "a path has a part", "reached", "a condition that does not hold"]
      else {
        complain("\(reasons)")
      }
      Glibc.exit(right)
    }
  }

  @Test("the condition of a check is evaluated once in each mode", arguments: 0..<3)
  func once(mode: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [mode] in
      Shield.setMode([ShieldMode.off, .observe, .absorb][mode])
      var times = 0
      let holds = Shield.check(
        {
          times += 1
          return true
        }())
      Glibc.exit(holds && times == 1 ? right : 1)
    }
  }

  @Test("a failed check and an executed unreachable call end with the caller's source location", arguments: 0..<4)
  func told(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      Shield.setMode(.off)
      Self.end(which)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    let words = [
      "Precondition failed: a key", "Precondition failed: a word", "Fatal error: a part", "Fatal error: a place",
    ]
    let pattern = "GuardTests/PlacesTests.swift:\(Self.endLine + which): \(words[which])"
    #expect(text.contains(pattern), "\(text)")
  }

  // The line that the test expects, computed outside of the macro, in which all line numbers are the same.
  private static var endLine: Int { 4 + #line }
  private static func end(_ which: Int) {
    let no = opaque(false)
    let checks: [() -> Void] = [
      { _ = Shield.check(no, "a key") },
      { _ = Shield.check(no, onTrap: "a word") },
      { _ = Shield.unreachable("a part", or: 7) },
      { _ = Shield.unreachable(onTrap: "a place", or: 9) },
    ]
    checks[which]()
  }

  private static func wordy() -> Bool {
    let holds = Shield.check(opaque(false), "a key has a value")
    let value = Shield.unreachable("a path has a part", or: 7)
    let wordless = Shield.unreachable(or: 8)
    let secret = opaque("secret")
    let tells = Shield.check(opaque(false), onTrap: "\(secret) has a value")
    let told = Shield.unreachable(onTrap: "\(secret) has a part", or: 9)
    return !holds && value == 7 && wordless == 8 && !tells && told == 9
  }

  private func same<Items: BidirectionalCollection>(_ items: Items) where Items.Element: Equatable {
    var position = items.startIndex
    while position < items.endIndex {
      let next = items.index(after: position)
      #expect(items.shieldedIndex(after: position) == next)
      #expect(items.shieldedIndex(before: next) == position)
      #expect(items.shieldedIndex(position, offsetBy: 1) == next)
      #expect(items.shieldedIndex(items.endIndex, offsetBy: 0) == items.endIndex)
      #expect(items[shielded: position] == items[position])
      #expect(Array(items[shielded: position...]) == Array(items[position...]))
      #expect(Array(items[shielded: ..<next]) == Array(items[..<next]))
      #expect(Array(items[shieldedBounds: position, next]) == [items[position]])
      var moved = position
      items.shieldedFormIndex(after: &moved)
      #expect(moved == next)
      items.shieldedFormIndex(before: &moved)
      #expect(moved == position)
      position = next
    }
    #expect(items[shieldedBounds: items.startIndex, items.endIndex].elementsEqual(items))
  }
}
