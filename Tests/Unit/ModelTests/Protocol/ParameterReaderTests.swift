import CrashProtocol
import Testing

@Suite("Parameters of calls")
struct ParameterReaderTests {
  private static let list = ParameterReader(ListQuery.self)
  private static let acknowledge = ParameterReader(Methods.Ack.Parameters.self)
  private static let remove = ParameterReader(Methods.Remove.Parameters.self)

  private func call(_ parameters: [String: JSONValue]?) -> VarlinkCall {
    VarlinkCall(method: "a.b", parameters: parameters)
  }

  @Test("the fields of combined parameter types are decoded from one object, and null is treated as absent")
  func joined() throws {
    let query = try Self.list.read(
      call(["limit": .int(3), "name": .string("shop"), "count": .bool(true), "before": .null]))
    #expect(query.limit == 3 && query.filter == ReportFilter(name: "shop"))
    #expect(query.count == true && query.before == nil)
    #expect(try Self.list.read(call(nil)) == ListQuery())
    #expect(try Self.remove.read(call(["ids": .array([.string("a"), .string("b")])])).ids == ["a", "b"])
  }

  @Test("the error names the first unknown parameter before other mistakes, cut at 64 characters")
  func unknown() {
    let long = String(repeating: "z", count: 99)
    #expect(throws: ProtocolError.invalidParameter("a")) {
      try Self.list.read(call(["limit": .string("x"), "b": .int(1), "a": .int(1)]))
    }
    #expect(throws: ProtocolError.invalidParameter(String(long.prefix(64)))) {
      try Self.list.read(call([long: .int(1)]))
    }
  }

  @Test("the error names a parameter of a wrong type, and a required parameter that is missing")
  func wrong() {
    let other: [(String, JSONValue)] = [
      ("limit", .double(1.5)), ("limit", .string("1")), ("pid", .bool(true)), ("name", .array([])),
      ("oldestFirst", .int(1)), ("since", .int(1)),
    ]
    for (name, value) in other {
      #expect(throws: ProtocolError.invalidParameter(name)) { try Self.list.read(call([name: value])) }
    }
    #expect(throws: ProtocolError.invalidParameter("cursor")) {
      try Self.acknowledge.read(call(["subscriber": .string("a")]))
    }
    for value in [JSONValue.string("a"), .array([.int(1)]), .null] {
      #expect(throws: ProtocolError.invalidParameter("ids")) { try Self.remove.read(call(["ids": value])) }
    }
  }
}
