import CrashReport
import FoundationEssentials
import Testing

@testable import CrashProtocol

@Suite("JSON fragments that are passed on unchanged")
struct JSONFragmentTests {
  private static func fragment(_ text: String, id: String = "ab") -> JSONFragment? {
    JSONFragment(Data(text.utf8), id: id)
  }

  private static func text(_ reply: SubscribeReply<JSONFragment>, continues: Bool = true) throws -> String {
    String(decoding: try VarlinkReplyText.success(reply, continues: continues), as: UTF8.self)
  }

  @Test("a reply contains its fragment byte for byte, after the cursor")
  func place() throws {
    let json = #"{"z":[1.50,"a\/b\u00e9"], "id":"ab"}"#
    let fragment: JSONFragment = try #require(Self.fragment(json))
    let reply = SubscribeReply(cursor: "c/1", report: fragment, lost: 2)
    #expect(try Self.text(reply) == #"{"continues":true,"parameters":{"cursor":"c/1","lost":2,"report":\#(json)}}"#)
    let decoded = try JSONDecoder().decode(
      VarlinkReply<SubscribeReply<JSONValue>>.self, from: Data(Self.text(reply, continues: false).utf8))
    guard case .parameters(let parameters) = decoded.outcome else {
      Issue.record("\(decoded)")
      return
    }
    #expect(parameters.report?["z"] == .array([.double(1.5), .string("a/bé")]))
  }

  @Test("JSONDecoder and crashd's own parser decode the same value, of each type and at each depth")
  func anyValue() throws {
    let text = #"{"a":null,"b":[true,false,0,-7,1.5,9007199254740993,1e300,"",[],{}],"c":{"":{"d":[[[1]]]}},"e":"1"}"#
    let decoded = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    #expect(decoded == JSONValue(parsing: Array(text.utf8)))
    #expect(
      decoded["b"]
        == .array([
          .bool(true), .bool(false), .int(0), .int(-7), .double(1.5), .int(9_007_199_254_740_993), .double(1e300),
          .string(""), .array([]), .object([:]),
        ]))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data("[{\"a\":1e999}]".utf8)) }
  }

  @Test("a number that is not finite is encoded as a string, and does not make the encoding fail")
  func notFinite() throws {
    let json = try VarlinkReplyText.success(["a": Double.infinity, "b": -.infinity, "c": .nan])
    let reply = try JSONDecoder().decode(VarlinkReply<[String: String]>.self, from: json)
    guard case .parameters(let parameters) = reply.outcome else {
      Issue.record("\(reply)")
      return
    }
    #expect(parameters == ["a": "Infinity", "b": "-Infinity", "c": "NaN"])
  }

  @Test("several fragments in one value are each encoded at their own position")
  func several() throws {
    let fragments = try (1...3).map { try JSONFragment(["n": $0]) }
    let json = try FragmentList.json(["list": fragments], [])
    #expect(String(decoding: json, as: UTF8.self) == #"{"list":[{"n":1},{"n":2},{"n":3}]}"#)
  }

  @Test(
    "a JSON fragment is refused if it has a NUL or a line break, is invalid, or lacks an object with the id",
    arguments: [
      "", "{", "x", "[]", "null", #""ab""#, "{}", #"{"id":"abc"}"#, #"{"id":1}"#, #"{"id":"ab"}{"id":"ab"}"#,
      #"{"id":"ab"},"#, #"{"id":"ab"}}"#, "{\"id\":\"ab\"\n}", "{\"id\":\"ab\"}\n", "{\"id\":\"ab\"}\0",
      "{\"id\":\"ab\",\"a\":\"\n\"}", "{\"id\":\"ab\",\"a\":\"\0\"}", #"{"id":"ab","a":"\ud800"}"#,
      #"{"id":"ab","a":1e999}"#, #"{"id":"ab","a":NaN}"#, #"{"a":{"id":"ab"}}"#,
      #"{"id":"ab","a":"# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}",
    ])
  func refused(text: String) {
    #expect(Self.fragment(text) == nil)
  }

  @Test("bytes that are not UTF-8 are not accepted as a JSON fragment")
  func encoding() {
    #expect(JSONFragment(Data(#"{"id":"ab","a":""#.utf8 + [0xff] + #""}"#.utf8), id: "ab") == nil)
  }

  @Test("a report is stored without escaped slashes, and is read back as the same report")
  func report() throws {
    let report = Sample.everything
    let fragment = try JSONFragment(report)
    #expect(try fragment.report() == report && JSONFragment(fragment.bytes, id: report.id) == fragment)
    #expect(!String(decoding: fragment.bytes, as: UTF8.self).contains(#"\/"#))
  }

  @Test("an encoder other than this module's refuses a JSON fragment")
  func outside() throws {
    let fragment = try #require(Self.fragment(#"{"id":"ab"}"#))
    #expect(throws: EncodingError.self) { try JSONEncoder().encode([fragment]) }
  }
}
