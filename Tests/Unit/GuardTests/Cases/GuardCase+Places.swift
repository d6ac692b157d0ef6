import CrashShieldGuards

/// Steps between positions, what only goes forth and back, and changes where something stands.
extension GuardCase {
  static let places: [GuardCase] = [
    GuardCase("the position after a string's end", .stringIndex, plain: { use(ab.index(after: opaque(ab.endIndex))) }) {
      ab.shieldedIndex(after: opaque(ab.endIndex)) == ab.endIndex
    },
    GuardCase(
      "the position before the start", .index, plain: { use(scalars.index(before: opaque(scalars.startIndex))) }
    ) {
      scalars.shieldedIndex(before: opaque(scalars.startIndex)) == scalars.startIndex
    },
    GuardCase(
      "a position too far", .index, plain: { use(scalars.index(opaque(scalars.startIndex), offsetBy: opaque(9))) }
    ) {
      scalars.shieldedIndex(opaque(scalars.startIndex), offsetBy: opaque(9)) == scalars.endIndex
    },
    GuardCase(
      "a step from the end", .index,
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
      "a step back from the start", .stringIndex,
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
    GuardCase("a string from a position of a longer one on", .stringIndex, plain: { use(ab[opaque(far)...]) }) {
      ab[shielded: opaque(far)...].isEmpty
    },
    GuardCase("an element of a collection that is a string", .stringIndex, plain: { use(ab[opaque(far)]) }) {
      element(of: ab, at: opaque(far), or: "x") == "x"
    },
    GuardCase("a part between bounds the wrong way round", .range, plain: { use(three[opaque(2)..<opaque(1)]) }) {
      three[shieldedBounds: opaque(2), opaque(1)].isEmpty
    },
    GuardCase("a part between bounds outside", .range, plain: { use(three[opaque(-1)..<opaque(2)]) }) {
      three[shieldedBounds: opaque(-1), opaque(2)] == [1, 2]
    },
    GuardCase(
      "a change of what is not there", .mutation,
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
