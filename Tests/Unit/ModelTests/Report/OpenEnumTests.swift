import CrashReport
import FoundationEssentials
import TestKit
import Testing

@Suite("Open vocabularies")
struct OpenEnumTests {
  private static func check<Word: OpenEnum>(_: Word.Type) throws {
    let json = Data(#"["of-a-later-version",""]"#.utf8)
    let words = try JSONDecoder().decode([Word].self, from: json)
    #expect(words.map { "\($0)" } == ["of-a-later-version", ""])
    #expect(try JSONEncoder().encode(words) == json)
  }

  @Test("an unknown value of an open enum decodes, prints and encodes unchanged")
  func unknown() throws {
    try Self.check(CrashReport.Cause.self)
    try Self.check(CrashReport.ReplacedHandler.Kind.self)
    try Self.check(IncidentReport.Kind.self)
    try Self.check(IncidentReport.Mode.self)
    try Self.check(IncidentReport.Source.self)
  }

  @Test("a known value of an open enum decodes as its case")
  func known() throws {
    let words = try JSONDecoder().decode([IncidentReport.Source].self, from: Data(#"["guard","pages"]"#.utf8))
    #expect(words == [.guarding, .pages])
  }

  @Test("a report keeps and shows a cause that only a later version defines")
  func report() throws {
    var report = Sample.indexOutOfRange
    report.diagnosis.cause = "of-a-later-version"
    let decoded = try JSONDecoder().decode(CrashReport.self, from: JSONEncoder().encode(report))
    #expect(decoded.diagnosis.cause == "of-a-later-version")
    #expect(TextRenderer(verbose: true).render(decoded).contains("of-a-later-version"))
  }
}
