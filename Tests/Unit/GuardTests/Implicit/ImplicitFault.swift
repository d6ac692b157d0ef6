// The code in this file contains no calls of guards. Only the import of CrashShieldImplicit protects it.
import CrashShieldGuards
import CrashShieldImplicit
import Testing

/// A fault in code that calls no guards.
struct ImplicitFault: Sendable, CustomTestStringConvertible {
  var name: String
  var kind: ShieldKind
  /// Runs the fault.
  ///
  /// Returns whether the result is the documented value.
  var body: @Sendable () -> Bool
  /// The line of the fault.
  var line: Int

  var testDescription: String { name }

  init(
    _ name: String, _ kind: ShieldKind, after lines: Int = 1, line: Int = #line, _ body: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.kind = kind
    self.line = line + lines
    self.body = body
  }

  static let all: [ImplicitFault] = [
    ImplicitFault("an element past the end", .index) {
      opaque([1, 2, 3])[opaque(3)] == 0
    },
    ImplicitFault("an element before the start of a slice", .index) {
      opaque(["a", "b", "c"])[1...][opaque(0)] == ""
    },
    ImplicitFault("an element of a ContiguousArray of optionals", .index) {
      opaque(ContiguousArray<UInt8?>([1, 2]))[opaque(Int.min)] == nil
    },
    ImplicitFault("a write past the end", .mutation) {
      written(opaque([1, 2, 3])) { $0[opaque(3)] = 7 }
    },
    // Line 0, because without optimization the instructions for a change of the list have no source line.
    ImplicitFault("a change of a nested list", .mutation, after: 0, line: 0) {
      written(opaque([[1], [2]])) { $0[opaque(-1)].append(7) }
    },
    ImplicitFault("a range past the end", .range) {
      Array(opaque([1, 2, 3])[opaque(1)..<9]) == [2, 3]
    },
    ImplicitFault("a write to a range past the end", .range) {
      written(opaque([1, 2, 3])) { $0[opaque(1)..<9] = [7] }
    },
    ImplicitFault("a range before the start", .range) {
      opaque(ContiguousArray([1, 2, 3]))[opaque(-1)..<2].elementsEqual([1, 2])
    },
    ImplicitFault("a range of a slice, by offsets from the slice's start", .range) {
      opaque([1, 2, 3])[1...][opaque(0)..<2].elementsEqual([2])
    },
    ImplicitFault("a character past the end", .stringIndex, after: 2) {
      let text = opaque("abc")
      return text[text.endIndex] == "\u{FFFD}"
    },
    ImplicitFault("a substring by indices of a longer text", .stringIndex, after: 3) {
      let long = opaque("abcdef")
      let short = opaque("abc")
      return short[long.index(long.startIndex, offsetBy: 2)..<long.endIndex] == "c"
    },
    ImplicitFault("an overflowing sum", .arithmetic) {
      opaque(Int.max) + 1 == .max
    },
    ImplicitFault("an underflowing sum of bytes", .arithmetic) {
      opaque(Int8.min) + opaque(Int8(-1)) == .min
    },
    ImplicitFault("a negative difference of unsigned integers", .arithmetic) {
      opaque(UInt(0)) - 1 == 0
    },
    ImplicitFault("an underflowing product", .arithmetic) {
      opaque(Int32.max) * opaque(Int32(-2)) == .min
    },
    ImplicitFault("a division by zero", .arithmetic) {
      opaque(1) / opaque(0) == 0
    },
    ImplicitFault("a remainder of a division by zero", .arithmetic) {
      opaque(UInt16(1)) % opaque(UInt16(0)) == 0
    },
    ImplicitFault("the negated smallest integer", .arithmetic) {
      -opaque(Int.min) == .max
    },
    ImplicitFault("a counter at its maximum", .arithmetic, after: 2) {
      var count = opaque(UInt8.max)
      count += 1
      return count == .max
    },
    ImplicitFault("a failed condition", .precondition) {
      goesOn { precondition(opaque(false), "it is \(opaque(3))") }
    },
  ]
}

/// Returns whether a change of the list that faults leaves the list unchanged.
private func written<List: Equatable>(_ list: List, _ change: (inout List) -> Void) -> Bool {
  var changed = list
  change(&changed)
  return changed == list
}

private func goesOn(_ body: () -> Void) -> Bool {
  body()
  return true
}
