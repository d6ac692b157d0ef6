import CrashProtocol
import Testing

@testable import CrashPages
@testable import crash_web
@testable import pages_sample

@Suite("Paths and errors")
struct RoutingTests {
  @Test("unknown pages, issues and crashes have the status 404, as pages and as JSON")
  func unknown() async throws {
    for path in ["/nothing", "/issues/beef", "/events/zz", "/issues/cafe/more", "/events/zz/report.html", "//", "/%"] {
      let answer = try await RenderingTests.answer(FakeSource(), path)
      #expect(answer.status == 404, "\(path)")
      #expect(Markup(String(decoding: answer.body, as: UTF8.self)).complaints.isEmpty)
    }
    let twin = try await RenderingTests.answer(FakeSource(), "/issues/beef.json")
    #expect(twin.status == 404 && twin.contentType.hasPrefix("application/json"))
  }

  @Test("a service that does not answer gives a plain page with the status 503", arguments: RenderingTests.paths)
  func unavailable(path: String) async throws {
    let source = FakeSource(error: .unavailable("crashd does not answer at '/run/<b>'"))
    let answer = try await RenderingTests.answer(source, path)
    let html = String(decoding: answer.body, as: UTF8.self)
    #expect(answer.status == 503 && html.contains("crashd does not answer at &#39;/run/&lt;b&gt;&#39;"))
    #expect(Markup(html).complaints.isEmpty)
  }

  @Test("a view that the source lacks is in no navigation, and has the status 404")
  func lacking() async throws {
    struct Small: PageSource {
      let all = FakeSource()
      var advice: String { all.advice }
      func scope() async throws(SourceError) -> Scope { Scope(name: "small", sections: [.health], terms: [.program]) }
      func issues(_ query: IssueQuery) async throws(SourceError) -> Slice<CrashPages.Issue> {
        try await all.issues(query)
      }
      func issue(_ key: String) async throws(SourceError) -> IssueDetail { try await all.issue(key) }
      func events(_ query: EventQuery) async throws(SourceError) -> Slice<Event> { try await all.events(query) }
      func event(_ id: String) async throws(SourceError) -> EventDetail { try await all.event(id) }
      func hours(of issues: [String]?, _ search: Search) async throws(SourceError) -> [HourCount] {
        try await all.hours(of: issues, search)
      }
    }
    let site = try Site(source: Small())
    let answer = await site.answer(PageRequest(target: "/issues"))
    let html = String(decoding: answer.body, as: UTF8.self)
    #expect(html.contains("href=\"/health\"") && !html.contains("href=\"/alarm\""))
    #expect(await site.answer(PageRequest(target: "/alarm")).status == 404)
    // The scope names this view, but the source does not implement its method.
    #expect(await site.answer(PageRequest(target: "/health")).status == 404)
    #expect(await site.answer(PageRequest(target: "/issues?q=signal:SEGV")).status == 400)
  }

  @Test("a path is encoded and decoded without loss")
  func encoding() {
    for text in ["", "a b", "100%", "ä/?&=+#\"", "\u{0}\u{202e}", "%41"] {
      #expect(PagePath.decode(PagePath.encode(text)) == text)
    }
    #expect(PagePath.decode("a+b%20c%zz%4", isQuery: true) == "a b c%zz%4")
    #expect(PageRequest(target: "/a?q=1&q=2&x&=&%71r=%26").query == ["q": "1", "x": "", "": "", "qr": "&"])
    #expect(PagePath.path("/a", ["q": nil, "b": "", "c": "d e"]) == "/a?c=d%20e")
  }

  @Test("a search that is too long is refused, and no page links to a part of a search")
  func longSearch() async throws {
    let long = String(repeating: "ä", count: 256)
    #expect(try await RenderingTests.answer(FakeSource(), "/issues?q=\(PagePath.encode(long))a").status == 400)
    let full = try await RenderingTests.html(FakeSource(count: 60), "/issues?q=\(PagePath.encode(long))")
    let next = PagePath.path("/issues", ["q": long, "page": "next 25 text"]).replacing("&", with: "&amp;")
    #expect(full.contains("href=\"\(next)\" rel=\"next\""))
    // One term more exceeds the limit.
    #expect(!full.contains("state%3Anew"))
    for (text, isLinked) in [(String(repeating: "f", count: 400), true), (String(repeating: "f", count: 600), false)] {
      let source = FakeSource(text: text)
      let term = "program%3A\(text)\""
      #expect(try await RenderingTests.html(source, "/processes").contains(term) == isLinked)
      let share = "release%3A\(text)\""
      #expect(try await RenderingTests.html(source, "/issues/cafe").contains(share) == isLinked)
    }
  }

  @Test("an empty value has no link, because no search selects it")
  func emptyValues() async throws {
    let html = try await RenderingTests.html(FakeSource(text: ""), "/issues/cafe")
    #expect(html.contains("release%3Aother\"") && !html.contains("release%3A\""))
    #expect(!(try await RenderingTests.html(FakeSource(text: ""), "/processes")).contains("program%3A"))
  }

  @Test("the files beside the pages need no other machine")
  func assets() async throws {
    for path in Assets.paths {
      let answer = try await RenderingTests.answer(FakeSource(), path)
      let text = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 200 && answer.isStatic)
      #expect(!text.replacing("http://www.w3.org/2000/svg", with: "").contains("//") || path.hasSuffix(".js"))
      #expect(!text.contains("@import") && !text.contains("url("))
    }
  }
}

@Suite("Search")
struct SearchTests {
  private static let now: UInt64 = 1_764_417_600_000_000_000

  private static func parse(_ text: String) throws(SourceError) -> Search {
    try SearchParser(terms: SearchTerm.allCases, states: Scope(name: "").states, now_ns: now).parse(text)
  }

  @Test("terms become fields of the protocol's filter, and other words search the title")
  func terms() throws {
    let search = try Self.parse(
      #"name:shop is:new state:open signal:segv route:"GET /a b" tag:zone=eu env:live index range"#)
    #expect(search.filter.name == "shop" && search.filter.signal == "SIGSEGV" && search.filter.route == "GET /a b")
    #expect(search.filter.tags == ["zone=eu"] && search.filter.environment == "live")
    #expect(search.states == ["new", "open"] && search.text == "index range")
    #expect(try Self.parse("").isEmpty && Self.parse("  \" \" ").text == " ")
    #expect(try Self.parse("pod:shop-1").filter.tags == ["k8s.pod.name=shop-1"])
    #expect(try Self.parse("\"a:b\" Cart.item(at:)").text == "a:b Cart.item(at:)")
  }

  @Test("the key of a group keeps its case in a search, and has the case of crashd's keys for crashd")
  func groupKeys() throws {
    let search = try Self.parse("group:CaFe")
    #expect(search.filter.group == "CaFe" && CrashdSource.filter(search).group == "cafe")
  }

  @Test("times are ages, dates or times")
  func times() throws {
    #expect(try Self.parse("since:24h").filter.since == "2025-11-28T12:00:00.000000Z")
    #expect(try Self.parse("until:-2d").filter.until == "2025-11-27T12:00:00.000000Z")
    #expect(try Self.parse("since:2025-11-22").filter.since == "2025-11-22T00:00:00.000000Z")
    #expect(try Self.parse("since:99999w").filter.since == "1970-01-01T00:00:00.000000Z")
  }

  @Test(
    "an invalid term names itself",
    arguments: ["since:x", "since:", "state:bad", "tag:x", "tag:=", "pid:-1", "pid:x", "since:99999999999999999999d"])
  func invalid(text: String) {
    #expect(throws: SourceError.self) { try Self.parse(text) }
  }

  @Test("a term is written so that it parses to the same value")
  func written() throws {
    for value in ["shop", "a b", "x:y", "q\"uote"] {
      let search = try Self.parse(try #require(SearchParser.term(.program, value)))
      #expect(search.filter.name == value.filter { $0 != "\"" })
    }
    for value in ["", "\"\""] { #expect(SearchParser.term(.program, value) == nil) }
    #expect(Page.without(.state, #"a state:new program:"b c" is:open"#) == #"a program:"b c""#)
  }
}
