import CrashPages
import CrashProtocol
import CrashReport
import Synchronization

/// A source whose strings are all the same text, so that a test can compare the pages of two texts.
struct FakeSource: PageSource {
  /// The string in every field whose value a crashed process can choose.
  var text = "text"
  /// The number of items in each list.
  var count = 1
  /// The value of every number; nil gives the numbers different values.
  var figure: Int?
  /// The error that every call throws.
  var error: SourceError?

  /// The recorded calls of `events`, each with its limit.
  let calls = Calls()

  /// A list of calls.
  final class Calls: Sendable {
    private let calls = Mutex<[String]>([])
    var all: [String] { calls.withLock { $0 } }
    func add(_ call: String) { calls.withLock { $0.append(call) } }
  }

  /// The time of all events.
  var time = "2026-11-29T12:00:00.000000Z"

  var advice: String { "Reload this page." }

  /// Strings that a hostile process may choose.
  static let hostile = [
    #""><script>alert(1)</script><img src=x onerror=alert(2)>"#, "\u{1b}[31mred\u{1b}]0;title\u{7}",
    "\u{202e}gnp.exe\u{2066}\u{0627}", String(repeating: "A", count: 10_240), String(repeating: "<\"&'>", count: 2_048),
    // In Swift, a quotation mark with a combining mark is another character. A browser still sees the quotation mark.
    "\"\u{338} onfocus=alert(3) autofocus x=\"\u{338}", "'\u{338} onmouseover='alert(4)'", "<\u{338}script>",
    "{{{view.html}}}{{#view}}{{/view}}{{> layout}}", "]]>--><!-- </title></main></textarea>", "\r\nSet-Cookie: a=b",
    "javascript:alert(5)", "\u{2028}\u{2029}\u{0}\u{7f}\u{85}",
    // A heading or a link of invisible characters has no name.
    "", " \u{200b}\u{3164}", "\u{5e9}\u{5dc}\u{5d5}\u{5dd} (12)",
  ]

  private func answer<Value>(_ value: Value) throws(SourceError) -> Value {
    if let error { throw error }
    return value
  }

  func scope() async throws(SourceError) -> Scope { try answer(Scope(name: text)) }

  private var issue: Issue {
    Issue(
      key: "cafe", title: text, sentence: text + ".", programs: [text, text], count: figure ?? 12_345,
      hosts: figure ?? 3, lostRequests: figure ?? 4, first: time, last: time, builds: figure ?? 2,
      firstBuild: text, lastBuild: text, release: text, state: "new", newestEvent: "a1")
  }

  private var event: Event {
    Event(
      id: "a1", time: time, program: text, pid: 7, signal: text, sentence: text, place: text, issue: "cafe",
      release: text, environment: text, route: text, host: text, pod: text)
  }

  private func slice<Item>(_ item: Item, limit: Int) throws(SourceError) -> Slice<Item> {
    try answer(
      Slice(Array(repeating: item, count: min(count, limit)), hasMore: count > limit, total: count) { [text] count in
        "next \(count) \(text.prefix(20))"
      })
  }

  func issues(_ query: IssueQuery) async throws(SourceError) -> Slice<Issue> {
    try slice(issue, limit: query.page.limit)
  }

  func issue(_ key: String) async throws(SourceError) -> IssueDetail {
    guard key == "cafe", count > 0 else { throw error ?? .notFound("issue '\(key)'") }
    let values = [IssueDetail.Value(value: text, count: figure ?? 3), IssueDetail.Value(value: "other", count: 1)]
    return try answer(
      IssueDetail(
        issue: issue,
        distributions: ["build", "release", "signal", "route"].map {
          IssueDetail.Distribution(property: $0, values: values, sample: 4)
        }))
  }

  func events(_ query: EventQuery) async throws(SourceError) -> Slice<Event> {
    calls.add("events \(query.page.limit)")
    return try slice(event, limit: query.page.limit)
  }

  func event(_ id: String) async throws(SourceError) -> EventDetail {
    guard id == "a1", count > 0 else { throw error ?? .notFound("crash '\(id)'") }
    return try answer(EventDetail(report: Self.report(text, time: time, threads: count), newer: "b2", older: "c3"))
  }

  func hours(of issues: [String]?, _: Search) async throws(SourceError) -> [HourCount] {
    let hour = String(time.prefix(13))
    return try answer(count == 0 ? [] : (issues ?? [""]).map { HourCount(hour: hour, key: $0, count: figure ?? 5) })
  }

  func incidents(_ query: IncidentSearch) async throws(SourceError) -> Slice<IncidentReport> {
    try slice(
      IncidentReport(
        id: "a-1", first: time, last: time, count: figure ?? 9,
        process: .init(pid: 7, uid: 0, name: text, executable: text, buildID: text), source: .quarantine,
        kind: .init(text), mode: .init(text), subject: text, sentence: text, confidence: .init(text), site: text),
      limit: query.page.limit)
  }

  func useAfterFree() async throws(SourceError) -> UseAfterFree {
    let item = UseAfterFree.Class(
      program: text, name: text, build: text, bytes: 65_536, detection: 0.8, lower: 0.6, upper: 0.95,
      hits: Double(figure ?? 12), estimatedAccesses: Double(figure ?? 15), crashes: Double(figure ?? 2))
    let group = UseAfterFree.Group(
      program: text, className: text, access: text, place: text, count: figure ?? 3, last: time, delay_ns: 12_000_000)
    return try answer(
      UseAfterFree(
        classes: Array(repeating: item, count: count), groups: Array(repeating: group, count: count),
        delays_ns: Array(repeating: 12_000_000, count: count)))
  }

  func processes(_ query: PageQuery) async throws(SourceError) -> Slice<AttachedProcess> {
    try slice(
      AttachedProcess(
        host: text, pid: 7, program: text, executable: text, build: text, start: time, state: text, memory: text,
        containment: text, container: text),
      limit: query.limit)
  }

  func builds(_: Search) async throws(SourceError) -> [BuildSummary] {
    let build = BuildSummary(
      programs: [text], build: text, release: text, count: figure ?? 5, issues: figure ?? 2, newIssues: 1, first: time,
      last: time,
      health: .init(
        processHours: 100, crashesPer1000Hours: 2.5, lower: 1, upper: 4, crashFreeRequests: 0.9987, verdict: text))
    return try answer(Array(repeating: build, count: count))
  }

  func health() async throws(SourceError) -> ServiceHealth {
    let fact = ServiceHealth.Fact(text, text, .bad)
    return try answer(
      ServiceHealth(
        sentence: text, level: .notice,
        sections: [.init(text, Array(repeating: fact, count: count)), .init("plain", [.init(text, text)])]))
  }

  func alarms() async throws(SourceError) -> Alarms {
    let program = Alarms.Program(
      name: text, level: text, evidence: 400, threshold: 365,
      usualPerDay: figure.map(Double.init) ?? 0.5,
      days: [.init(date: String(time.prefix(10)), crashes: figure ?? 3, hits: 1)], lastSwitch: text,
      lastSwitchTime: time)
    let decision = Alarms.Decision(time: time, program: text, text: text)
    return try answer(
      Alarms(
        programs: Array(repeating: program, count: count), decisions: Array(repeating: decision, count: count)))
  }

  /// A report whose strings all are `text`.
  static func report(_ text: String, time: String = FakeSource().time, threads: Int = 1) -> CrashReport {
    let frame = CrashReport.Frame(
      address: 0x1000, function: text, mangled: text, file: text, line: 12, image: text, isOwn: true, trust: .context)
    let thread = { (number: Int) in
      CrashReport.CrashedThread(
        tid: number, name: text, crashed: number == 1, frames: Array(repeating: frame, count: 12), registers: [:])
    }
    return CrashReport(
      id: "a1", time: time,
      process: CrashReport.ProcessIdentity(
        pid: 7, uid: 0, name: text, executable: text, buildID: text, startTime: time, unit: text),
      signal: CrashReport.Signal(number: 4, name: text, code: 1, codeName: text), reason: text,
      diagnosis: CrashReport.Diagnosis(cause: .init(rawValue: "cause"), sentence: text, rule: "rule", confidence: 1),
      threads: (1...max(1, threads)).map(thread),
      images: Array(repeating: .init(path: text, buildID: text, base: 0x1000, end: 0x2000), count: threads),
      annotations: [text: text], breadcrumbs: [], group: CrashReport.Group(key: "cafe", title: text))
  }
}
