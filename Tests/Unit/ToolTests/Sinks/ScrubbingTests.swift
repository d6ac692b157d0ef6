import CrashProtocol
import CrashReport
import Testing

@testable import crash_forward

@Suite("Scrubbing of events")
struct ScrubbingTests {
  private func scrubbed(_ more: String, _ change: (inout PrivacySettings) -> Void = { _ in }) throws -> SinkEvent {
    var rules = PrivacySettings()
    change(&rules)
    return try SinkEvent(Sample.received(id: "aa11", more: more), scrubbedBy: TextScrubber(rules))
  }

  @Test("scrubbing removes secrets, mail addresses and user names, and keeps the data that identify the crash")
  func standard() throws {
    let event = try scrubbed(
      #""annotations":{"DB_Password":"hunter2","mail":"to anna@example.org","ben@example.org":"x"},"#
        + #""later":{"path":["/home/anna/shop"]},"#)
    #expect(
      event.report.annotations
        == ["DB_Password": "[scrubbed]", "mail": "to [scrubbed]", "[scrubbed]": "x"])
    // Scrubbing also applies to values of JSON keys that this version does not know, such as `later`.
    #expect(event.json["later"]?["path"] == .array([.string("/home/[user]/shop")]))
    #expect(event.report.id == "aa11")
    #expect(event.report.group.key == "k")
    #expect(event.report.threads[0].frames[0].file == "/src/Cart.swift")
    let whole = String(decoding: try event.json.encoded(), as: UTF8.self)
    for secret in ["hunter2", "anna", "ben@"] { #expect(!whole.contains(secret)) }
  }

  @Test("a pattern that matches addresses scrubs texts only, and the report stays decodable")
  func addresses() throws {
    let event = try scrubbed(
      #""annotations":{"at":"0x3132333435363738"},"breadcrumbs":[{"time":"t","text":"0x3132333435363738"}],"#
        + #""reason":"0x3132333435363738","threads":[{"tid":7,"name":"w","crashed":true,"#
        + #""registers":{"rax":"0x3132333435363738"},"frames":[]}],"#
        + #""later":["0x3132333435363738","0x3132333435363738 "],"#
    ) { $0.patterns = ["[0-9]{16}"] }
    #expect(event.report.threads[0].registers == ["rax": 0x3132_3334_3536_3738])
    #expect(event.report.annotations == ["at": "0x[scrubbed]"])
    #expect(event.report.breadcrumbs[0].text == "0x[scrubbed]" && event.report.reason == "0x[scrubbed]")
    #expect(event.json["later"] == .array([.string("0x3132333435363738"), .string("0x[scrubbed] ")]))
  }

  @Test("the metadata of a breadcrumb is scrubbed like annotations, including by its keys")
  func breadcrumbs() throws {
    let event = try scrubbed(
      #""breadcrumbs":[{"time":"t","text":"pay","level":"info","category":"checkout","#
        + #""metadata":{"session-token":"7F3A","time":"checkout at 8","id":"42"}}],"#
    ) { $0.patterns = ["checkout"] }
    let crumb = event.report.breadcrumbs[0]
    #expect(crumb.metadata == ["session-token": "[scrubbed]", "time": "[scrubbed] at 8", "id": "42"])
    #expect(crumb.category == "[scrubbed]" && crumb.level == .info && crumb.text == "pay")
  }

  @Test("events are scrubbed by the rules of the settings")
  func own() throws {
    let event = try scrubbed(#""annotations":{"password":"p","room":"17"},"#) {
      $0.annotations = ["ROOM"]
      $0.patterns = ["checkout"]
    }
    #expect(event.report.annotations == ["password": "p", "room": "[scrubbed]"])
    #expect(event.report.threads[0].frames[0].function == "[scrubbed]()")
  }
}
