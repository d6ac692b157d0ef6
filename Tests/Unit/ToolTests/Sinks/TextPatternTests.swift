import Testing

@testable import CrashReport

@Suite("Patterns of the scrubber")
struct TextPatternTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var pattern: String
    var text: String
    var found: [String]
    init(_ pattern: String, _ text: String, _ found: [String]) {
      (self.pattern, self.text, self.found) = (pattern, text, found)
    }
    var testDescription: String { "\(pattern) in \(text)" }
  }

  static let cases = [
    Case("ab", "xabyab", ["ab", "ab"]),
    Case("a|ab|abc", "abcd", ["abc"]),
    Case("a*", "baac", ["aa"]),
    Case("(a|b)+c?", "xabacab", ["abac", "ab"]),
    Case("[a-c]{2}", "abcab", ["ab", "ca"]),
    Case("[a-c]{2,3}", "abcab", ["abc", "ab"]),
    Case("x{3,}", "xx xxxx", ["xxxx"]),
    Case("x{0,1}y", "xxy", ["xy"]),
    Case("[^ ]+", "to ünï", ["to", "ünï"]),
    Case("a.c", "aäc abc a\nc", ["aäc", "abc"]),
    Case("ä+", "ääa", ["ää"]),
    Case(#"\bid\b"#, "id idle (id)", ["id", "id"]),
    Case(#"\d{4}-\D"#, "12345-x", ["2345-x"]),
    Case(#"\w+\s\S"#, "ab c d", ["ab c"]),
    Case("^a|b$", "aab b", ["a", "b"]),
    Case(#"[]\]a-]+"#, "x]-a", ["]-a"]),
    Case(#"\.\\\["#, #".\["#, [#".\["#]),
    Case("(?:ab)+", "ababa", ["abab"]),
    Case("(a*)*b", "aaab", ["aaab"]),
    Case("(|a)+b", "aab", ["aab"]),
    Case(
      #"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]"#, "to a.b@c.example.org., x@y", ["a.b@c.example.org"]),
  ]

  @Test("a scrub pattern finds the leftmost longest match, then the next match after it", arguments: cases)
  func found(each: Case) throws {
    let text = Array(each.text.utf8)
    let ranges = try #require(try TextPattern(each.pattern).ranges(in: text))
    #expect(ranges.map { String(decoding: text[$0], as: UTF8.self) } == each.found)
  }

  @Test(
    "a scrub pattern with unsupported syntax is refused",
    arguments: [
      "", "(", ")", "a)", "[", "[a", "[\\", "\\", "*a", "a**", "a*?", "a{", "a{2", "a{3,2}", "a{256}", "a{0}", "(?=a)",
      "\\1",
      "\\p{L}", "[z-a]", "[ä]", "^*", "((a{255}){255}){255}",
    ])
  func refused(pattern: String) {
    #expect(throws: PatternProblem.self) { try TextPattern(pattern) }
  }

  @Test("a scrub pattern that is too long or too deeply nested is refused")
  func tooLong() {
    #expect(throws: PatternProblem.self) { try TextPattern(String(repeating: "(", count: 100_000)) }
    #expect(throws: PatternProblem.self) { try TextPattern(String(repeating: "a", count: 3_000)) }
    // This pattern must be refused before its repetitions are expanded: they add no states to the automaton, because
    // the repeated pattern is empty, but would be 255²⁰ copies.
    let nested = String(repeating: "(", count: 20) + String(repeating: "){255}", count: 20)
    #expect(throws: PatternProblem.self) { try TextPattern(nested) }
  }

  @Test("the search for a scrub pattern is stopped if it would take quadratic time")
  func bounded() throws {
    let text = Array(repeating: UInt8(ascii: "a"), count: 2_000)
    #expect(try TextPattern("a|a*b").ranges(in: text) == nil)
    // For the next two patterns, the search needs few steps, although Swift's Regex would take minutes for the first
    // one.
    #expect(try TextPattern("[a-z]+@[a-z]+").ranges(in: text) == [])
    #expect(try TextPattern("(a|aa|a*)*").ranges(in: text) == [0..<2_000])
  }

  @Test("a string for which a pattern needs too many steps is scrubbed completely")
  func givenUp() throws {
    var settings = PrivacySettings()
    settings.patterns = ["a|a*b"]
    #expect(try TextScrubber(settings).scrub(String(repeating: "a", count: 2_000)) == "[scrubbed]")
  }
}
