import CrashReport
import Testing

@Suite("TextRenderer")
struct TextRendererTests {
  @Test("the text report states below the stacks why symbols are missing")
  func missingSymbols() {
    var report = Sample.indexOutOfRange
    report.images[0].symbols = "its symbols were not ready in time"
    let text = TextRenderer(width: 100).render(report)
    #expect(text.contains("Missing symbols\n  /srv/bin/CartServer: its symbols were not ready in time\n"))
  }

  @Test("the text of a preliminary report states before the first stack that it is preliminary")
  func preliminary() throws {
    var report = Sample.indexOutOfRange
    report.isPreliminary = true
    let text = TextRenderer(width: 100).render(report)
    let notice = try #require(text.firstRange(of: "\nPreliminary: crashd still reads the symbols."))
    let stack = try #require(text.firstRange(of: "\nThread "))
    #expect(notice.lowerBound < stack.lowerBound)
    report.isPreliminary = nil
    #expect(!TextRenderer(width: 100).render(report).contains("Preliminary"))
  }

  @Test("a crash report renders as text")
  func plain() throws {
    try Golden.expect(TextRenderer().render(Sample.indexOutOfRange), isIn: "index-out-of-range.txt")
  }

  @Test("on a narrow terminal, the text report prints source locations on their own lines")
  func narrow() throws {
    try Golden.expect(TextRenderer(width: 60).render(Sample.indexOutOfRange), isIn: "narrow.txt")
  }

  @Test(
    "text reports wrap sentences between words, and do not split a word that is longer than a line",
    arguments: [40, 60, 80])
  func wrapping(width: Int) {
    var report = Sample.indexOutOfRange
    let word = String(repeating: "w", count: 90)
    report.diagnosis.sentence = "Swift stopped the program: Unexpectedly found nil while unwrapping an Optional value."
    report.reason = "\(report.diagnosis.sentence)\n\(word) is long."
    report.process.name = "a name of some length"
    let text = TextRenderer(width: width).render(report)
    let prose = text.split(separator: "\n", omittingEmptySubsequences: true).prefix { !$0.contains("▶") }
    for line in prose where !line.contains(word) { #expect(line.count <= width, "\(line)") }
    #expect(text.contains("  \(word)"))
    #expect(prose.joined(separator: " ").contains(report.diagnosis.sentence))
  }

  @Test("the text report states if the process sent itself the signal")
  func ownSignal() {
    var report = Sample.indexOutOfRange
    report.signal.sender = CrashReport.Sender(pid: report.process.pid, uid: report.process.uid)
    #expect(TextRenderer(width: 120).render(report).contains(", sent by itself\n"))
    report.signal.sender?.pid += 1
    #expect(!TextRenderer(width: 120).render(report).contains("sent by itself"))
  }

  @Test("the verbose text report has every field of a report")
  func verbose() throws {
    try Golden.expect(TextRenderer(verbose: true).render(Sample.everything), isIn: "verbose.txt")
  }

  @Test("the text report has every crashed thread, and folds a deep recursion")
  func recursion() throws {
    try Golden.expect(TextRenderer().render(Sample.everything), isIn: "two-threads.txt")
  }

  @Test("a colored text report highlights in-app frames, and has the same text without its escape sequences")
  func color() throws {
    let colored = TextRenderer(color: true).render(Sample.everything)
    try Golden.expect(colored, isIn: "color.txt")
    var plain = ""
    var isEscape = false
    for character in colored {
      if character == "\u{1b}" { isEscape = true }
      if !isEscape { plain.append(character) }
      if character == "m" { isEscape = false }
    }
    #expect(plain == TextRenderer().render(Sample.everything))
  }

  @Test("the text report shows threads with equal stacks once, and a reason for a thread without a stack")
  func otherThreads() {
    var report = Sample.indexOutOfRange
    let wait = CrashReport.Frame(address: 0x7f00_0000_1200, function: "epoll_wait", trust: .context)
    for tid in 21...32 {
      report.threads.append(.init(tid: tid, name: "loop", crashed: false, frames: [wait]))
    }
    report.threads.append(
      .init(tid: 41, name: "signals", crashed: false, frames: [], silence: .init(isBlocking: true, runState: "S")))
    report.threads.append(
      .init(tid: 42, name: "", crashed: false, frames: [], silence: .init(isBlocking: false, runState: "R")))
    let verbose = TextRenderer(verbose: true).render(report)
    #expect(verbose.ranges(of: "epoll_wait").count == 1)
    let eight = (22...29).map { "\($0) \"loop\"" }.joined(separator: ", ")
    #expect(verbose.contains("Thread 21 \"loop\"\n  11 more threads like it: \(eight), …\n"))
    #expect(verbose.contains("Thread 41 \"signals\"\n\n  could not answer: it blocks signals (sleeping)\n"))
    #expect(verbose.contains("Thread 42\n\n  did not answer in time (running)\n"))
    #expect(
      TextRenderer().render(report).contains(
        "14 other threads not shown (2 of them without a stack): see --threads or -v."))
  }

  @Test("the first in-app frame is the first line with the marker")
  func marker() throws {
    let lines = TextRenderer().render(Sample.indexOutOfRange).split(separator: "\n")
    let marked = try #require(lines.first { $0.contains("▶") })
    #expect(marked == " ▶   2 Cart.total(of:) [inlined] at Sources/CartServer/Cart.swift:41:17")
  }

  @Test("no field can put a terminal escape sequence into the text report", arguments: [true, false])
  func hostile(verbose: Bool) {
    let evil = "\u{1b}]0;owned\u{07}\u{9b}31m\r\u{202e}x"
    var report = Sample.everything
    report.id = evil
    report.time = evil
    report.process.name = evil
    report.process.executable = evil
    report.process.buildID = evil
    report.process.startTime = evil
    report.process.unit = evil
    report.signal.name = evil
    report.signal.codeName = evil
    report.reason = evil
    report.diagnosis = CrashReport.Diagnosis(cause: .init(evil), sentence: evil, rule: evil, confidence: .nan)
    report.annotations = [evil: evil]
    report.breadcrumbs = [
      CrashReport.Breadcrumb(time: evil, text: evil, level: .init(evil), category: evil, metadata: [evil: evil])
    ]
    report.group = CrashReport.Group(key: evil, title: evil)
    report.losses = [evil: 1]
    report.images = [CrashReport.Image(path: evil, buildID: evil, base: 0, end: .init(.max))]
    for index in report.threads.indices {
      report.threads[index].name = evil
      report.threads[index].reason = evil
      report.threads[index].signal?.name = evil
      report.threads[index].registers = [evil: 1]
      for frame in report.threads[index].frames.indices {
        report.threads[index].frames[frame].function = frame % 2 == 0 ? evil : ""
        report.threads[index].frames[frame].mangled = evil
        report.threads[index].frames[frame].file = evil
        report.threads[index].frames[frame].image = evil
        report.threads[index].frames[frame].trust = CrashReport.Trust(rawValue: evil)
      }
    }
    let text = TextRenderer(verbose: verbose).render(report)
    let controls = text.unicodeScalars.filter {
      ($0.value < 0x20 && $0 != "\n") || (0x7f...0x9f).contains($0.value) || $0.value == 0x202e
    }
    #expect(controls.isEmpty)
    #expect(text.contains("␛]0;owned␇"))
  }

  @Test("a report without frames and message still states what happened")
  func bare() {
    var report = Sample.indexOutOfRange
    report.diagnosis.sentence = ""
    report.reason = ""
    report.threads[0].frames = []
    let text = TextRenderer().render(report)
    #expect(text.hasPrefix("CartServer crashed by SIGILL\n"))
    #expect(text.contains("no frames were captured"))
  }

  @Test("if a stack has no in-app frames, the text report folds no frames")
  func onlyRuntime() {
    var report = Sample.indexOutOfRange
    for index in report.threads[0].frames.indices { report.threads[0].frames[index].isOwn = false }
    let text = TextRenderer().render(report)
    #expect(!text.contains("runtime frames"))
    #expect(text.contains("  4 ChannelHandlerContext.fireChannelRead(_:)"))
  }
}
