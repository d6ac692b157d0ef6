import CrashReport
import Testing

@Suite("Other formats of a report")
struct FormatTests {
  @Test("a report renders as Apple's crash format")
  func apple() throws {
    try Golden.expect(AppleRenderer().render(Sample.everything), isIn: "everything.crash")
  }

  @Test("a report renders as one self-contained HTML page")
  func html() throws {
    let page = HTMLRenderer().render(Sample.everything)
    try Golden.expect(page, isIn: "everything.html")
    for word in ["<script", "http:", "https:", "url(", "@import", "<img", "<link"] { #expect(!page.contains(word)) }
  }

  @Test("names in a right-to-left script do not reorder the header of the HTML page")
  func directions() {
    var report = Sample.indexOutOfRange
    (report.process.name, report.signal.name) = ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "SIGILL")
    let page = HTMLRenderer().render(report)
    #expect(page.contains("<bdi>\u{5e9}\u{5dc}\u{5d5}\u{5dd}</bdi> · <bdi>SIGILL</bdi> · <time datetime="))
    #expect(page.contains("span, time { unicode-bidi: isolate; }"))
  }

  @Test("the HTML page of a report without a visible diagnosis has the signal as its heading")
  func heading() {
    for sentence in ["", " ", "\t\u{200b}\u{3164}"] {
      var report = Sample.indexOutOfRange
      report.diagnosis.sentence = sentence
      #expect(HTMLRenderer().render(report).contains("<h1>crashed by SIGILL</h1>"))
    }
    #expect(!CleanText.isBlank("\u{202e}") && !CleanText.isBlank(" a"))
  }

  @Test("S10: the text and the HTML page have a line for a freed object's class only if the class is known")
  func freedClass() {
    var report = Sample.everything
    let texts = { [TextRenderer().render(report), HTMLRenderer().render(report)] }
    #expect(texts().allSatisfy { !$0.contains("Class") })
    report.diagnosis.expectedClass = "Session"
    #expect(texts().allSatisfy { $0.contains("Class") && $0.contains("Session, as the code expects") })
    report.diagnosis.className = "shop.Session"
    #expect(texts().allSatisfy { $0.contains("shop.Session") && !$0.contains("as the code expects") })
  }

  @Test("strings of the crashed process cannot become markup in the HTML page")
  func hostile() {
    var report = Sample.everything
    let attack = "<script>alert('1')</script>\"&\u{1b}[2J"
    report.process.name = attack
    report.process.executable = attack
    report.process.unit = attack
    report.reason = attack
    report.diagnosis.sentence = attack
    report.group.title = attack
    report.annotations = [attack: attack]
    report.breadcrumbs = [
      CrashReport.Breadcrumb(
        time: attack, text: attack, level: .init(attack), category: attack, metadata: [attack: attack])
    ]
    report.losses = [attack: 1]
    for index in report.images.indices { report.images[index].path = attack }
    for thread in report.threads.indices {
      report.threads[thread].name = attack
      report.threads[thread].reason = attack
      report.threads[thread].registers[attack] = 1
      for frame in report.threads[thread].frames.indices {
        report.threads[thread].frames[frame].function = attack
        report.threads[thread].frames[frame].mangled = attack
        report.threads[thread].frames[frame].file = attack
        report.threads[thread].frames[frame].image = attack
      }
    }
    let page = HTMLRenderer().render(report)
    #expect(!page.contains("<script") && !page.contains("alert('"))
    #expect(!page.contains("\u{1b}"))
    #expect(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;"))
    #expect(!AppleRenderer().render(report).contains("\u{1b}"))
  }
}
