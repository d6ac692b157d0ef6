import FleetStore
import Testing

@Suite("Ingest parser")
struct ParserTests {
  private func parse(_ text: String) throws -> [Result<IngestItem, IngestProblem>] {
    try IngestParser().parse(Array(text.utf8))
  }

  private func problem(_ text: String) throws -> IngestProblem? {
    guard case .failure(let problem)? = try parse(text).first else { return nil }
    return problem
  }

  @Test("lines and an array give the same items")
  func forms() throws {
    let lines = try parse(Sample.line(1) + "\n\n" + Sample.line(2) + "\n")
    let array = try parse("[\(Sample.line(1)), \(Sample.line(2))]")
    #expect(lines.count == 2)
    let ids = [lines, array].map { items in
      items.map { item -> UInt128? in
        guard case .success(.report(let report)) = item else { return nil }
        return report.id
      }
    }
    #expect(ids == [[1, 2], [1, 2]])
  }

  @Test("a report keeps its JSON, and gives the fields that the database searches")
  func fields() throws {
    guard case .success(.report(let report))? = try parse(Sample.line(5, group: "g", host: 9)).first else {
      Issue.record("no report")
      return
    }
    #expect(report.host == IncomingHost(machine: 9, name: "web-9"))
    #expect(report.build == IncomingBuild(program: "shop", build: "b1"))
    #expect(report.group.key == "g" && report.group.signal == "SIGSEGV" && report.group.cause == "null-pointer")
    #expect(report.unit == "shop.service" && report.release == nil && report.time_us == Sample.now_us)
    #expect(String(decoding: report.body, as: UTF8.self).hasPrefix(#"{"id":"000"#))
    #expect(report.body.last == UInt8(ascii: "}"))
  }

  @Test("a malformed line is refused with its place, and affects no other line")
  func oneBadLine() throws {
    let items = try parse(Sample.line(1) + "\n{\"report\":{]\n" + Sample.line(2))
    #expect(items.count == 3)
    guard case .failure(let problem) = items[1] else {
      Issue.record("accepted")
      return
    }
    #expect(problem.code == .malformed && problem.description.contains("at byte"))
  }

  @Test("an array that is malformed is refused as a whole")
  func badArray() {
    #expect(throws: IngestProblem.self) { try parse("[\(Sample.line(1)),") }
    #expect(throws: IngestProblem.self) { try parse("[\(Sample.line(1))] x") }
  }

  @Test(
    "wrong items are refused with a stable code and what is wrong",
    arguments: [
      ("{}", "unknown-item", "needs one of the members"),
      ("7", "invalid-field", "must be an object"),
      (#"{"report":{}}"#, "missing-field", "'report.id' is missing"),
      (#"{"report":{"id":"zz"}}"#, "invalid-field", "32 hexadecimal digits"),
      (#"{"report":{"id":7}}"#, "invalid-field", "'report.id' must be a string"),
      (#"{"count":{"program":"p","group":{"key":"k"},"hour":-1}}"#, "invalid-field", "'count.hour'"),
      (#"{"count":{"program":"p","group":{"key":"k"},"hour":1,"run":0}}"#, "invalid-field", "'count.run'"),
      (
        #"{"count":{"program":"p","group":{"key":"k"},"hour":1,"run":1,"crashes":1e9}}"#, "invalid-field",
        "must be an integer"
      ),
      (
        #"{"count":{"program":"p","group":{"key":"k"},"hour":1,"run":1,"crashes":1000000001}}"#, "invalid-field",
        "must be from 0 to 1000000000"
      ),
      (
        #"{"count":{"program":"p","group":{"key":"k"},"hour":1,"run":1,"crashes":5}}"#, "missing-field",
        "names no machine"
      ),
      (#"{"position":{"stream":"s"},"host":{"machine":"1"}}"#, "missing-field", "'position.cursor'"),
    ])
  func wrong(text: String, code: String, part: String) throws {
    let problem = try #require(try problem(text))
    #expect(problem.code.rawValue == code)
    #expect(problem.description.contains(part))
  }

  @Test("deep nesting, huge items and too many items are refused")
  func limits() throws {
    let deep = String(repeating: "[", count: 100_000)
    #expect(try problem("{\"x\":\(deep)}")?.code == .tooDeep)
    #expect(throws: IngestProblem.self) { try parse(deep) }
    let objects = String(repeating: "{\"a\":", count: 100_000)
    #expect(try problem(objects)?.code == .tooDeep)
    let big = "{\"x\":\"\(String(repeating: "y", count: 3 << 20))\"}"
    #expect(try problem(big)?.code == .tooLarge)
    #expect(throws: IngestProblem.self) { try parse(String(repeating: "{}\n", count: 10_001)) }
    #expect(try parse(String(repeating: "{}\n", count: 10_000)).count == 10_000)
  }

  @Test("strings lose NUL, are shortened at a whole character, and keep escapes")
  func strings() throws {
    let title = #"\u0000a\"\ud83d\ude00\ud83d"# + String(repeating: "é", count: 2_000)
    let text = Sample.line(1).replacing("title of a1", with: title)
    guard case .success(.report(let report))? = try parse(text).first else {
      Issue.record("no report")
      return
    }
    #expect(report.group.title.hasPrefix("\u{FFFD}a\"😀\u{FFFD}é"))
    #expect((1_022...1_024).contains(report.group.title.utf8.count))
  }
}
