import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Testing

/// Tests decoding that skips invalid parts.
///
/// Without the guards, one invalid element, member or field makes the whole decoding throw.
@Suite
struct DecodingTests {
  @Test("without the guards one invalid part makes the whole decoding throw")
  func plain() {
    for text in [badElement, badMember, badField] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(Plain.self, from: Data(text.utf8)) }
    }
  }

  @Test("absorb: invalid elements are skipped in decoding, and counted at the call site")
  func absorb() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let lines = try decoded(badElement, line: 1).lines
      let prices = try decoded(badMember, line: 2).prices
      let bad = try decoded(badField, line: 3)
      guard lines == [Line(id: 1), Line(id: 3)], prices == ["a": 1, "c": 3], bad.note == nil, bad.id == 5 else {
        complain("\(lines) \(prices) \(bad)")
      }
      let found = Shield.guardIncidents.sorted { $0.line < $1.line }
      guard found.map(\.line) == [1, 2, 3], found.map(\.count) == [3, 1, 1], found.allSatisfy({ $0.kind == .json }),
        found.allSatisfy({ $0.fileID == #fileID }),
        found.map(\.reason) == [
          "no Line: no id", "no Int: another type than Int", "no String: another type than String",
        ]
      else { complain("\(found)") }
      Glibc.exit(right)
    }
  }

  @Test("decoding anything other than an array or an object gives no elements, and is counted")
  func containers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let order = try decoded(#"{"id": 5, "lines": "x", "prices": [1], "note": "n"}"#, line: 1)
      guard order.lines.isEmpty, order.prices.isEmpty, order.note == "n", Shield.guardIncidents.map(\.count) == [2]
      else { complain("\(order) \(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("a missing or null optional is not a decoding fault")
  func absent() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let missing = try decoded(#"{"id": 5}"#, line: 1)
      let null = try decoded(#"{"id": 5, "lines": null, "prices": null, "note": null}"#, line: 2)
      for order in [missing, null] {
        guard order.lines.isEmpty, order.prices.isEmpty, order.note == nil else { complain("\(order)") }
      }
      guard Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("unguarded parts, and texts that are not JSON, throw as without guards")
  func unguarded() {
    for text in [#"{"lines": []}"#, "{", ""] {
      #expect(throws: DecodingError.self) { try decoded(text, line: 1) }
    }
  }

  @Test("the decoder's strategies apply to guarded parts")
  func strategies() throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let found = try decoder.shieldedDecode(Dates.self, from: Data(#"{"days": [0, "x", 86400]}"#.utf8))
    #expect(found.days == [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86400)])
  }

  @Test(
    "a decoding error is thrown: in off without a record, in observe with one",
    arguments: [ShieldMode.off, .observe])
  func thrown(mode: ShieldMode) async {
    await #expect(processExitsWith: .exitCode(right)) { [mode = Int(mode.rawValue) as Int] in
      Shield.setMode(ShieldMode(rawValue: UInt8(mode)) ?? .absorb)
      for (line, text) in [badElement, badMember, badField].enumerated() {
        do {
          _ = try decoded(text, line: UInt(line))
          complain("nothing was thrown")
        } catch is DecodingError {}
      }
      guard Shield.guardIncidents.count == mode * 3, Shield.guardIncidents.allSatisfy({ $0.count == 1 }) else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("skipped elements on four threads are counted per call site")
  func threads() async {
    await #expect(processExitsWith: .exitCode(right)) {
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for _ in 0..<100 {
          guard (try? decoded(badElement, line: UInt(thread % 2 + 1)))?.lines.count == 2 else { complain("another") }
        }
      }
      guard Shield.guardIncidents.map(\.count) == [600, 600] else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }
}

private let badElement =
  #"{"id": 5, "lines": [{"id": 1}, {"no": 2}, {"id": 3}, 7, {"id": "x"}], "prices": {}, "note": "n"}"#
private let badMember = #"{"id": 5, "lines": [], "prices": {"a": 1, "b": "x", "c": 3}, "note": "n"}"#
private let badField = #"{"id": 5, "lines": [], "prices": {}, "note": 7}"#

private struct Line: Decodable, Equatable {
  var id: Int
}

private struct Plain: Decodable {
  var id: Int
  var lines: [Line]
  var prices: [String: Int]
  var note: String?
}

private struct Order: Decodable {
  var id: Int
  @ShieldedElements var lines: [Line]
  @ShieldedMembers var prices: [String: Int]
  @ShieldedField var note: String?
}

private struct Dates: Decodable {
  @ShieldedElements var days: [Date]
}

@Sendable
private func decoded(_ text: String, line: UInt) throws -> Order {
  try JSONDecoder().shieldedDecode(Order.self, from: Data(text.utf8), line: line)
}
