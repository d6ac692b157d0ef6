import CrashShieldGuards

/// Cases with steps between indices, with collections that are only bidirectional, and with in-place changes.
extension GuardCase {
  static let places: [GuardCase] = [
    GuardCase("the index after a string's end", .stringIndex, plain: { use(ab.index(after: opaque(ab.endIndex))) }) {
      ab.shieldedIndex(after: opaque(ab.endIndex)) == ab.endIndex
    },
    GuardCase(
      "the index before the start", .index, plain: { use(scalars.index(before: opaque(scalars.startIndex))) }
    ) {
      scalars.shieldedIndex(before: opaque(scalars.startIndex)) == scalars.startIndex
    },
    GuardCase(
      "an index offset past the end", .index,
      plain: { use(scalars.index(opaque(scalars.startIndex), offsetBy: opaque(9))) }
    ) {
      scalars.shieldedIndex(opaque(scalars.startIndex), offsetBy: opaque(9)) == scalars.endIndex
    },
    GuardCase(
      "an index step past the end", .index,
      plain: {
        var position = opaque(scalars.endIndex)
        scalars.formIndex(after: &position)
        use(position)
      }
    ) {
      var position = opaque(scalars.endIndex)
      scalars.shieldedFormIndex(after: &position)
      return position == scalars.endIndex
    },
    GuardCase(
      "an index step before the start", .stringIndex,
      plain: {
        var position = opaque(ab.startIndex)
        ab.formIndex(before: &position)
        use(position)
      }
    ) {
      var position = opaque(ab.startIndex)
      ab.shieldedFormIndex(before: &position)
      return position == ab.startIndex
    },
    GuardCase("a scalar at the end", .index, plain: { use(scalars[opaque(scalars.endIndex)]) }) {
      scalars[shielded: opaque(scalars.endIndex), default: "x"] == "x"
    },
    GuardCase("a substring from an index of a longer string", .stringIndex, plain: { use(ab[opaque(far)...]) }) {
      ab[shielded: opaque(far)...].isEmpty
    },
    GuardCase("an element of a collection that is a string", .stringIndex, plain: { use(ab[opaque(far)]) }) {
      element(of: ab, at: opaque(far), or: "x") == "x"
    },
    GuardCase("a slice with bounds in the wrong order", .range, plain: { use(three[opaque(2)..<opaque(1)]) }) {
      three[shieldedBounds: opaque(2), opaque(1)].isEmpty
    },
    GuardCase("a slice with bounds outside", .range, plain: { use(three[opaque(-1)..<opaque(2)]) }) {
      three[shieldedBounds: opaque(-1), opaque(2)] == [1, 2]
    },
    GuardCase(
      "a change at an invalid index", .mutation,
      plain: {
        var array = opaque(three)
        array[opaque(3)] += 1
        use(array)
      }
    ) {
      var array = opaque(three)
      return array.shieldedUpdate(at: opaque(3)) { $0 += 1 } == nil && array == three
    },
    GuardCase(
      "a removal of the character at the end", .mutation,
      plain: {
        var text = opaque(ab)
        text.remove(at: opaque(text.endIndex))
        use(text)
      }
    ) {
      var text = opaque(ab)
      return text.shieldedRemove(at: opaque(text.endIndex)) == nil && text == ab
    },
  ]

  private static let ab = opaque("ab")
  private static let scalars = opaque("ab").unicodeScalars
  private static let far = "abcdef".endIndex
}

private func element<Text: BidirectionalCollection>(
  of text: Text, at position: Text.Index, or value: Text.Element, line: UInt = #line
) -> Text.Element {
  text[shielded: position, default: value, line: line]
}
