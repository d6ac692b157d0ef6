import CrashShieldGuards
import CrashShieldFoundation
import Foundation

/// Cases that change Foundation's arrays and strings at invalid positions.
extension GuardCase {
  static let lists: [GuardCase] = [
    GuardCase(
      "an insertion past the end of an NSMutableArray", .foundationRange, plain: { listed().insert(0, at: opaque(4)) }
    ) {
      unchanged {
        !$0.shieldedInsert(0, at: opaque(4)) && $0.shieldedInsert(3, at: 3) && $0.shieldedRemoveObject(at: 3)
      }
    },
    GuardCase(
      "a removal past the end of an NSMutableArray", .foundationRange, plain: { listed().removeObject(at: opaque(3)) }
    ) {
      unchanged { !$0.shieldedRemoveObject(at: opaque(3)) }
    },
    GuardCase(
      "a replacement at an invalid index of an NSMutableArray", .foundationRange,
      plain: { listed().replaceObject(at: opaque(-1), with: 0) }
    ) {
      unchanged { !$0.shieldedReplaceObject(at: opaque(-1), with: 0) }
    },
    GuardCase(
      "an object past the end of an NSOrderedSet", .foundationRange, plain: { use(ordered().object(at: opaque(3))) }
    ) {
      ordered().shieldedObject(at: opaque(3)) == nil
    },
    GuardCase(
      "an insertion past the end of an ordered set", .foundationRange, plain: { ordered().insert(9, at: opaque(4)) }
    ) {
      let set = ordered()
      return !set.shieldedInsert(9, at: opaque(4)) && set.shieldedInsert(9, at: 3) && set.count == 4
    },
    GuardCase(
      "a removal past the end of an ordered set", .foundationRange, plain: { ordered().removeObject(at: opaque(3)) }
    ) {
      let set = ordered()
      return !set.shieldedRemoveObject(at: opaque(3)) && set.count == 3
    },
    GuardCase(
      "a replacement past the end of an ordered set", .foundationRange,
      plain: { ordered().replaceObject(at: opaque(3), with: 9) }
    ) {
      let set = ordered()
      return !set.shieldedReplaceObject(at: opaque(3), with: 9) && !set.contains(9)
    },
    GuardCase(
      "a capture group that a regular expression does not have", .foundationRange,
      plain: { use(found()?.range(at: opaque(2))) }
    ) {
      let match = found()
      return match?.shieldedRange(at: opaque(2)) == nil
        && match?.shieldedRange(at: 1) == NSRange(location: 1, length: 1)
    },
  ]

  static let texts: [GuardCase] = [
    GuardCase(
      "an insertion past the end of an NSMutableString", .foundationRange,
      plain: { plainText().insert("x", at: opaque(4)) }
    ) {
      same { !$0.shieldedInsert("x", at: opaque(4)) }
    },
    GuardCase(
      "a deletion of an invalid range of an NSMutableString", .foundationRange,
      plain: { plainText().deleteCharacters(in: far) }
    ) {
      same { !$0.shieldedDeleteCharacters(in: far) }
    },
    GuardCase(
      "a replacement of an invalid range of an NSMutableString", .foundationRange,
      plain: { plainText().replaceCharacters(in: far, with: "") }
    ) {
      same { !$0.shieldedReplaceCharacters(in: far, with: "") }
    },
    GuardCase(
      "an attribute at the end", .foundationRange, SIGSEGV,
      plain: { unsafe use(styled().attribute(key, at: behind, effectiveRange: nil)) }
    ) {
      styled().shieldedAttribute(key, at: behind) == nil && styled().shieldedAttribute(key, at: 0) as? Int == 1
    },
    GuardCase(
      "attributes at the end", .foundationRange, SIGSEGV,
      plain: { unsafe use(styled().attributes(at: behind, effectiveRange: nil)) }
    ) {
      styled().shieldedAttributes(at: behind).isEmpty && styled().shieldedAttributes(at: 2).count == 1
    },
    GuardCase(
      "attributes added past the end", .foundationRange, SIGSEGV,
      plain: { styled().addAttributes([other: 2], range: huge) }
    ) {
      let text = styled()
      text.shieldedAddAttributes([other: 2], range: huge)
      return text.shieldedAttributes(at: 2).count == 2 && text.shieldedAttributes(at: 0).count == 1
    },
    GuardCase(
      "an attribute removed past the end", .foundationRange, SIGSEGV,
      plain: { styled().removeAttribute(key, range: huge) }
    ) {
      let text = styled()
      text.shieldedRemoveAttribute(key, range: huge)
      return text.shieldedAttributes(at: 2).isEmpty && text.shieldedAttributes(at: 0).count == 1
    },
    GuardCase(
      "an insertion past the end of an attributed string", .foundationRange, SIGSEGV,
      plain: { styled().insert(styled(), at: behind) }
    ) {
      let text = styled()
      return !text.shieldedInsert(styled(), at: behind) && text.string == "abc"
    },
    GuardCase(
      "a deletion of an invalid range of an attributed string", .foundationRange, SIGSEGV,
      plain: { styled().deleteCharacters(in: far) }
    ) {
      let text = styled()
      return !text.shieldedDeleteCharacters(in: far) && text.string == "abc"
    },
    GuardCase(
      "a replacement of an invalid range of an attributed string", .foundationRange, SIGSEGV,
      plain: { styled().replaceCharacters(in: far, with: "") }
    ) {
      let text = styled()
      return !text.shieldedReplaceCharacters(in: far, with: "") && text.string == "abc"
    },
  ]

  private static let far = NSRange(location: 1, length: 9)
  // The length is so large that the read reaches unmapped memory. If the length were small, the read could access other
  // data without a fault.
  private static let huge = NSRange(location: 1, length: Int.max - 1)
  private static let behind = opaque(Int.max - 1)
  private static let key = NSAttributedString.Key("key")
  private static let other = NSAttributedString.Key("other")

  private static func listed() -> NSMutableArray { NSMutableArray(array: three) }
  private static func ordered() -> NSMutableOrderedSet { NSMutableOrderedSet(array: three) }
  private static func plainText() -> NSMutableString { NSMutableString(string: "abc") }
  private static func styled() -> NSMutableAttributedString {
    NSMutableAttributedString(string: "abc", attributes: [key: 1])
  }

  private static func found() -> NSTextCheckingResult? {
    let all = NSRange(location: 0, length: 3)
    return (try? NSRegularExpression(pattern: "a(b)c"))?.firstMatch(in: "abc", range: all)
  }

  private static func unchanged(_ body: (NSMutableArray) -> Bool) -> Bool {
    let list = listed()
    return body(list) && list as? [Int] == three
  }

  private static func same(_ body: (NSMutableString) -> Bool) -> Bool {
    let text = plainText()
    return body(text) && text.isEqual(to: "abc")
  }
}
