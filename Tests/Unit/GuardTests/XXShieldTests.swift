import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Testing

/// Tests guards for the faults in the 18 tests and in the demo of XXShield, an iOS crash-protection library.
///
/// docs/guards-suites.md lists the tests for these faults.
///
/// The tests run one after the other, because each recognizes its incidents only by this file.
@Suite(.serialized)
struct XXShieldTests {
  @Test("NSCache: setting nil changes nothing")
  func cache() {
    let cache = NSCache<NSString, NSString>()
    cache.setObject("val", forKey: "key")
    let incidents = recorded {
      let missing: NSString? = nil
      for object in [NSString](shielded: [missing]) { cache.setObject(object, forKey: "key", cost: 10) }
    }
    #expect(cache.object(forKey: "key") == "val" && incidents.map(\.kind) == [.missingValue])
  }

  @Test("NSArray: the eleventh element of arrays with zero, one and two elements is nil")
  func arrayOutside() {
    for array in [[], [1], [1, 2]] as [NSArray] {
      let incidents = recorded { #expect(array.shieldedObject(at: 10) == nil) }
      #expect(incidents.map(\.kind) == [.foundationRange])
    }
  }

  @Test("NSArray: nil among the objects is skipped")
  func arrayWithNil() {
    let incidents = recorded { #expect([String](shielded: ["1", nil]) as NSArray == ["1"]) }
    #expect(incidents.map(\.kind) == [.missingValue])
  }

  @Test("NSDictionary: pairs without a key or a value are skipped")
  func dictionaryWithNil() {
    let pairs: [(String?, String?)] = [("name", "zs"), ("age", nil), (nil, "")]
    let incidents = recorded { #expect([String: String](shielded: pairs) as NSDictionary == ["name": "zs"]) }
    #expect(incidents.map(\.kind) == [.missingValue] && incidents[0].reason.hasPrefix("2 nil"))
  }

  @Test("NSMutableArray: adding nil changes nothing")
  func addNil() {
    let array = NSMutableArray()
    let incidents = recorded { for object in [1, nil, 3] { array.shieldedAdd(object) } }
    #expect(array == [1, 3] && incidents.map(\.kind) == [.missingValue])
  }

  @Test("NSMutableArray: the hundredth element of an array with two elements is nil")
  func mutableOutside() {
    let incidents = recorded { #expect(NSMutableArray(array: [1, 3]).shieldedObject(at: 100) == nil) }
    #expect(incidents.map(\.kind) == [.foundationRange])
  }

  @Test("NSMutableArray: removing the third element of an array with two elements changes nothing")
  func removeOutside() {
    var array = [1, 3]
    var removed: Int? = 0
    let incidents = recorded { removed = array.shieldedRemove(at: 2) }
    #expect(removed == nil && array == [1, 3] && incidents.map(\.kind) == [.mutation])
  }

  @Test("NSMutableArray: an insertion at index ten of an array with two elements changes nothing")
  func insertOutside() {
    var array = [1, 3]
    var isInserted = true
    let incidents = recorded { isInserted = array.shieldedInsert(7, at: 10) }
    #expect(!isInserted && array == [1, 3] && incidents.map(\.kind) == [.mutation])
  }

  @Test("NSMutableArray: setting the hundredth element of an array with two elements changes nothing")
  func setOutside() {
    var array = ["1", "3"]
    var isSet = true
    let incidents = recorded { isSet = array.shieldedReplace(at: 100, with: "xx") }
    #expect(!isSet && array == ["1", "3"] && incidents.map(\.kind) == [.mutation])
  }

  @Test("NSMutableDictionary: a pair with a nil key or value adds nothing, and assigning nil removes the key")
  func dictionarySetNil() {
    var names = ["name": "zs"]
    let pairs: [(String?, String?)] = [("xx", nil), (nil, "xx")]
    let incidents = recorded { names.merge([String: String](shielded: pairs)) { $1 } }
    #expect(names == ["name": "zs"] && incidents.map(\.kind) == [.missingValue])
    // Swift itself removes the key when nil is assigned, so this is not a fault.
    #expect(recorded { names["name"] = nil }.isEmpty && names.isEmpty)
  }

  @Test("NSNull in place of a string gives the default, to which a text can be appended")
  func nullText() {
    let incidents = recorded { #expect(ShieldedJSON(NSNull()).string(or: "").appending("fafa") == "fafa") }
    #expect(incidents.map(\.kind) == [.null])
  }

  @Test("NSNull in place of a number gives the default")
  func nullNumber() {
    let incidents = recorded { #expect(!ShieldedJSON(NSNull()).bool(or: false)) }
    #expect(incidents.map(\.kind) == [.null])
  }

  @Test("NSNull in place of an array gives an empty one, to which an element can be added")
  func nullArray() {
    let incidents = recorded { #expect(Shield.cast(NSNull(), orDefault: [String].self) + ["xx"] == ["xx"]) }
    #expect(incidents.map(\.kind) == [.null])
  }

  @Test("NSNull in place of a dictionary gives an empty dictionary")
  func nullDictionary() {
    let incidents = recorded {
      let empty = Shield.cast(NSNull(), orDefault: [String: String].self)
      #expect(empty.keys.isEmpty && empty.values.isEmpty)
    }
    #expect(incidents.map(\.kind) == [.null])
  }

  @Test("an unknown message with arguments returns 0")
  func unknownMessage() {
    let student = DynamicReceiver(Student(), methods: [:])
    let incidents = recorded { #expect(student.doesNotExist(nil, 100) as? Int ?? 0 == 0) }
    #expect(
      incidents.map(\.kind) == [.message] && incidents[0].reason.hasSuffix("Student does not respond to doesNotExist"))
  }

  @Test("testKVO1: an observed object that is deallocated before its observers does not call them")
  func observedGoes() {
    let observer = Student()
    let incidents = recorded {
      let registry = ObserverRegistry<Model>()
      registry.add(observer, for: \.name) { _, _ in Issue.record("called") }
    }
    #expect(incidents.isEmpty)
  }

  @Test("testKVO2: an observer that is deallocated at once is not called, and is removed")
  func observerGoes() {
    let registry = ObserverRegistry<Model>()
    registry.add(Student(), for: \.name) { _, _ in Issue.record("called") }
    registry.notify(\.name, "new")
    #expect(registry.count == 0)
  }

  @Test("testKVO3: an observer added twice is called once, and a second removal is ignored")
  func addedAndRemovedTwice() {
    let (registry, observer) = (ObserverRegistry<Model>(), Student())
    let calls = Calls()
    let incidents = recorded {
      for _ in 0..<2 { registry.add(observer, for: \.name) { _, _ in calls.count += 1 } }
      registry.notify(\.name, "new")
      for _ in 0..<2 { registry.remove(observer, for: \Model.name) }
    }
    #expect(calls.count == 1 && registry.count == 0 && incidents.map(\.kind) == [.observation, .observation])
  }

  /// Returns the incidents that guards in this file recorded while the body ran.
  private func recorded(_ body: () -> Void) -> [ShieldIncident] {
    let before = incidents
    body()
    return incidents.filter { incident in
      (before.first { $0.line == incident.line && $0.kind == incident.kind }?.count ?? 0) < incident.count
    }
  }

  private var incidents: [ShieldIncident] { Shield.guardIncidents.filter { $0.fileID == #fileID } }
}

private final class Student: Sendable {}

private struct Model {
  var name = "zs"
}

/// Counts calls.
///
/// Sendable: only the thread of one test uses the object.
private final class Calls: @unchecked Sendable {
  var count = 0
}
