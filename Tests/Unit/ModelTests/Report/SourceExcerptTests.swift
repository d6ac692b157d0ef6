import CrashReport
import Testing

@Suite("Source excerpts")
struct SourceExcerptTests {
  private static let text = Array(((1...9).map { "line \($0)" }.joined(separator: "\n") + "\n").utf8)

  @Test(
    "a source excerpt has up to three lines on each side",
    arguments: [(1, 1, 4), (2, 1, 5), (5, 2, 8), (8, 5, 9), (9, 6, 9)])
  func context(line: Int, first: Int, last: Int) throws {
    let excerpt = try #require(SourceExcerpt(of: Self.text, around: line))
    #expect(excerpt.first == first && excerpt.line == line)
    #expect(excerpt.lines == (first...last).map { "line \($0)" })
  }

  @Test(
    "for a line beyond the end of the file there is no source excerpt",
    arguments: [Int.min, -1, 0, 11, 99, Int.max])
  func noSuchLine(line: Int) { #expect(SourceExcerpt(of: Self.text, around: line) == nil) }

  @Test("an excerpt handles an empty file, and a file without a final newline")
  func small() {
    #expect(SourceExcerpt(of: [], around: 2) == nil)
    #expect(SourceExcerpt(of: Array("a\r\nb".utf8), around: 2)?.lines == ["a", "b"])
  }

  @Test("the text report quotes source for the first in-app frame; the verbose one for the whole crashed thread")
  func text() throws {
    let source: SourceLookup = { frame in
      let text = (1...200).map { "    line \($0) of \u{1b}[31m\(frame.function)" }.joined(separator: "\n")
      return frame.line.flatMap { SourceExcerpt(of: Array(text.utf8), around: $0) }
    }
    try Golden.expect(TextRenderer(source: source).render(Sample.everything), isIn: "source.txt")
    let verbose = TextRenderer(verbose: true, source: source).render(Sample.everything)
    #expect(verbose.split(separator: "\n").count { $0.contains("▶ ") && $0.contains("│") } == 4)
    let page = HTMLRenderer(source: source).render(Sample.everything)
    #expect(page.contains("<span class=\"here\"><span class=\"number\">41</span>     line 41 of ␛[31mCart.total(of:)"))
  }
}
