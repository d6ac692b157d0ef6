import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Testing

/// Tests which values the JSON guards return, and what they record if the JSON does not have the expected structure.
@Suite
struct JSONTests {
  @Test("JSON of the expected shape returns its values, and leaves no record")
  func expected() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let json = try ShieldedJSON(
        data: Data(
          #"{"s": "x", "i": 42, "f": 3.5, "w": 3.0, "t": true, "n": 0, "l": [1, [2]], "o": {"a": "b"}, "string": 9}"#
            .utf8))
      guard json.s.string() == "x", json.i.int() == 42, json.f.double() == 3.5, json.w.int() == 3,
        json.i.double() == 42,
        json.t.bool() == true, json.n.bool() == false, json.t.int() == 1, json.l[1][0].int() == 2,
        json.l.array()?.count == 2, json.o.object()?["a"]?.string() == "b", json["string"].int() == 9,
        json.s.isPresent, !json.x.isPresent, !json.s.x.isPresent
      else { complain("another value") }
      guard Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test(
    "a JSON record has the path, and whether the value is missing, null or of another type",
    arguments: [
      (0, "user.name is missing where String was expected", ShieldKind.missingValue),
      (1, "user.mail is null where String was expected", .null),
      (2, "user.tags[1] is a number where Array<Any> was expected", .cast),
      (3, "user.mail.host[0].name: user.mail is null where an object was expected", .null),
      (4, "user.tags.first: user.tags is an array where an object was expected", .cast),
      (5, "user[2]: user is an object where an array was expected", .cast),
      (6, "user.tags[9] is missing where Int was expected", .missingValue),
      (7, "user.none.at: user.none is missing where an object was expected", .missingValue),
      (8, "*.mail is null where Bool was expected", .null),
      (9, "the root value is an object where Double was expected", .cast),
    ])
  func reason(number: Int, reason: String, kind: ShieldKind) async {
    await #expect(processExitsWith: .exitCode(right)) { [number, reason, kind = Int(kind.rawValue) as Int] in
      let json = try ShieldedJSON(data: Data(#"{"user": {"mail": null, "tags": ["a", 2]}}"#.utf8))
      let questions: [(ShieldedJSON) -> Bool] = [
        { $0.user.name.string() == nil }, { $0.user.mail.string() == nil }, { $0.user.tags[1].array() == nil },
        { $0.user.mail.host[0].name.string() == nil }, { $0.user.tags.first.int() == nil }, { $0.user[2].int() == nil },
        { $0.user.tags[9].int() == nil }, { $0.user.none.at.string() == nil },
        { $0.object()?.values.first?.mail.bool() == nil }, { $0.double() == nil },
      ]
      guard questions[number](json) else { complain("a value") }
      let incidents = Shield.guardIncidents
      guard incidents.map(\.reason) == [reason], Int(incidents[0].kind.rawValue) == kind, incidents[0].count == 1 else {
        complain("\(incidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("invalid elements of a JSON array are skipped and counted")
  func leftOut() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let json = ShieldedJSON(["tags": ["a", NSNull(), [1], "b", NSNull()] as [Any]])
      let tags = json.tags.array()?.compactMap { $0.string() } ?? []
      let counts = Dictionary(uniqueKeysWithValues: Shield.guardIncidents.map { ($0.kind, $0.count) })
      guard tags == ["a", "b"], counts == [.null: 2, .cast: 1] else { complain("\(tags) \(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("numbers of Swift and Foundation types are read as JSON numbers")
  func numbers() {
    #expect(ShieldedJSON(UInt8(7)).int() == 7)
    #expect(ShieldedJSON(Float(0.5)).double() == 0.5)
    #expect(ShieldedJSON(NSNumber(value: 7)).int() == 7)
    #expect(ShieldedJSON(UInt64.max).double() == 0x1p64)
    #expect(ShieldedJSON(true).bool() == true)
    #expect(ShieldedJSON([Int?.none, 3] as [Int?] as Any)[1].int() == 3)
    #expect(ShieldedJSON([Int?.none, 3] as [Int?] as Any)[0].isPresent == false)
    #expect(ShieldedJSON(nil).isPresent == false)
    #expect(ShieldedJSON(Int?.some(3)).int() == 3)
  }

  @Test("parsing a string that is not JSON throws an error")
  func noJSON() {
    #expect(throws: (any Error).self) { try ShieldedJSON(data: Data("{".utf8)) }
  }

  @Test("JSON that is nested too deeply is treated as another type, and does not overflow the stack")
  func deep() async {
    await #expect(processExitsWith: .exitCode(right)) {
      var value: [Any] = []
      for _ in 0..<500 { value = [value] }
      var json = ShieldedJSON(value)
      for _ in 0..<127 { json = json[0] }
      guard json.array()?.count == 1, json[0].array() == nil else { complain("not so deep") }
      guard Shield.guardIncidents.map(\.kind) == [.cast] else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }
}
