import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Testing

/// Tests guards for the faults that iOS crash-protection libraries hook and that no other test covers.
///
/// docs/guards-suites.md lists the tests for these faults.
///
/// The tests run one after the other, because each recognizes its incidents only by this file.
@Suite(.serialized)
struct OtherSuitesTests {
  @Test("objectsAtIndexes: of several indices, the valid ones are returned")
  func places() {
    let (objects, kinds) = recorded { IndexSet([0, 1, 9]).compactMap { ["a", "b"][shielded: $0] } }
    #expect(objects == ["a", "b"] && kinds == [.index])
  }

  @Test("removeObjectsInRange, replaceObjectsInRange: an invalid range changes nothing")
  func rangesOfArray() {
    var array = [1, 2, 3]
    let (isDone, kinds) = recorded {
      array.shieldedReplaceSubrange(1..<9, with: []) || array.shieldedReplaceSubrange(2..<4, with: [7])
    }
    #expect(!isDone && array == [1, 2, 3] && kinds == [.mutation])
  }

  @Test("NSMutableString: insertions, deletions and replacements past the end change nothing")
  func mutableText() {
    var text = "abc"
    let far = "abcdef".endIndex
    let (changes, kinds) = recorded {
      [
        text.shieldedInsert("x", at: far), text.shieldedRemove(at: far) != nil,
        text.shieldedReplaceSubrange(text.startIndex..<far, with: "y"),
      ]
    }
    #expect(changes == [false, false, false] && text == "abc" && Set(kinds) == [.mutation])
  }

  @Test("rangeOfString:options:range: the search is clamped to the text")
  func searched() {
    let (isFound, kinds) = recorded { "abc"[shielded: "abc".startIndex..<"abcdef".endIndex].contains("c") }
    #expect(isFound && kinds == [.stringIndex])
  }

  @Test("NSData: a subdata and a replacement past the end are absorbed")
  func data() {
    var bytes = Data([1, 2, 3])
    let (part, kinds) = recorded { bytes[shielded: 1..<9] }
    #expect(part == Data([2, 3]) && kinds == [.range])
    let (isDone, others) = recorded { bytes.shieldedReplaceSubrange(2..<9, with: Data([0])) }
    #expect(!isDone && bytes == Data([1, 2, 3]) && others == [.mutation])
  }

  @Test("NSSet: nil among the members is skipped")
  func members() {
    let (members, kinds) = recorded { Set([String](shielded: ["a", nil])) }
    #expect(members == ["a"] && kinds == [.missingValue])
  }

  @Test("setValuesForKeysWithDictionary: known keys are set, unknown keys are not")
  func keysByName() {
    let shop = Shop()
    let receiver = DynamicReceiver(
      shop, methods: ["setName": { shop, arguments in (arguments.first as? String).map { shop.name = $0 } }])
    let (_, kinds) = recorded {
      receiver.setName("zs")
      receiver.setAge(7)
    }
    #expect(shop.name == "zs" && kinds == [.message])
  }

  /// Returns the result of the body, and the kinds of the faults that guards in this file recorded while it ran.
  private func recorded<Result>(_ body: () -> Result) -> (Result, [ShieldKind]) {
    let before = incidents
    let result = body()
    let met = incidents.filter { incident in
      (before.first { $0.line == incident.line && $0.kind == incident.kind }?.count ?? 0) < incident.count
    }
    return (result, met.map(\.kind))
  }

  private var incidents: [ShieldIncident] { Shield.guardIncidents.filter { $0.fileID == #fileID } }
}

private final class Shop {
  var name = ""
}
