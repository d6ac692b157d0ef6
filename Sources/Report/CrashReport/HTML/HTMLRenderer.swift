/// Renders a report as one self-contained HTML page, without scripts, fonts or network addresses.
///
/// The page follows the light or dark mode that is set in the browser.
///
/// All strings from the crashed process are escaped. In addition, the Content-Security-Policy of the page forbids the
/// browser from loading or executing anything.
public struct HTMLRenderer: Sendable {
  /// A function that finds the source excerpts for the first in-app frames of the crash.
  public var source: SourceLookup?
  /// The format of the times in the page.
  public var times: ReportTimes

  /// Creates a renderer.
  public init(source: SourceLookup? = nil, times: ReportTimes = .utc) {
    self.source = source
    self.times = times
  }

  /// The CSS of `fragment(_:)`, for a page that contains the fragment in an element of the class `report`.
  ///
  /// That page must define the colors, as the variables `--ink`, `--faint`, `--ground`, `--card`, `--line`, `--alarm`
  /// and `--place`.
  public static let fragmentStyle = ".report {\n\(HTMLStyle.report.description)\n}\n"

  /// Returns the report as HTML for the body of another page.
  ///
  /// The fragment has no scripts, no styles and no links. All strings of the report are escaped.
  public func fragment(_ report: CrashReport) -> String { sections(report).description }

  /// Returns the HTML page.
  public func render(_ report: CrashReport) -> String {
    let page: HTMLText = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <title>\(report.process.name): \(title(report))</title>
      <style>
      \(HTMLStyle.page)
      \(HTMLStyle.report)
      </style>
      </head>
      <body>
      <main>
      \(sections(report))</main>
      </body>
      </html>

      """
    return page.description
  }

  private func sections(_ report: CrashReport) -> HTMLText {
    let crashed = report.threads.filter(\.crashed)
    let others = report.threads.filter { !$0.crashed }
    var parts = [headline(report)]
    parts += crashed.enumerated().map { threadSection($1, isOpen: true, isFirst: $0 == 0, in: report) }
    parts += [facts(report), notes(report)]
    if !others.isEmpty {
      parts.append("<h2>Other threads</h2>")
      parts += others.map { threadSection($0, isOpen: false, isFirst: false, in: report) }
    }
    parts += [
      list("Machine", report.machineFacts), list("Process", report.processFacts), images(report), losses(report),
    ]
    return parts.joined()
  }

  private func title(_ report: CrashReport) -> String {
    let sentence = report.diagnosis.sentence
    // A heading needs visible text.
    return CleanText.isBlank(sentence) ? "crashed by \(report.signal.name)" : sentence
  }

  private func headline(_ report: CrashReport) -> HTMLText {
    let text = TextRenderer(width: .max)
    var html: HTMLText = """
      <header>
      <p class="who">\(who(report))</p>
      <h1>\(title(report))</h1>
      """
    if !report.reason.isEmpty && report.reason != report.diagnosis.sentence {
      html = html + "\n<pre class=\"reason\">\(lines(report.reason))</pre>"
    }
    return html + "\n<p class=\"signal\">\(text.describe(report.signal, in: report))</p>"
      + request(report.request) + containment(report) + "\n</header>"
  }

  /// Returns which process crashed, how, when and where.
  ///
  /// Each part has its own text direction, because a name in a right-to-left script would reorder the other parts.
  private func who(_ report: CrashReport) -> HTMLText {
    let (name, signal) = (isolated(report.process.name), isolated(report.signal.name))
    return report.origins.reduce("\(name) · \(signal) · \(time(report.time))") { $0 + " · " + isolated($1) }
  }

  private func isolated(_ text: String) -> HTMLText { "<bdi>\(text)</bdi>" }

  /// Returns a readable time, with the machine-readable time as an attribute.
  func time(_ time: String) -> HTMLText { "<time datetime=\"\(time)\">\(times.moment(time))</time>" }

  /// Returns the string as HTML, with its line breaks.
  private func lines(_ text: String) -> HTMLText {
    text.split(separator: "\n", omittingEmptySubsequences: true).map { HTMLText($0) }.joined()
  }

  private func threadSection(
    _ thread: CrashReport.CrashedThread, isOpen: Bool, isFirst: Bool, in report: CrashReport
  ) -> HTMLText {
    let text = TextRenderer(width: .max)
    let note = thread.crashed ? (isFirst ? "crashed" : "also crashed") : thread.silence.map(text.describe) ?? ""
    let open: HTMLText = isOpen ? " open" : ""
    var html: HTMLText = """
      <details class="thread"\(open)>
      <summary>Thread \(text.threadName(thread)) <span class="note">\(note)</span></summary>

      """
    if let reason = thread.reason, reason != report.reason {
      html = html + "<pre class=\"reason\">\(lines(reason))</pre>\n"
    }
    if !isFirst { html = html + request(thread.request) }
    if thread.frames.isEmpty {
      html = html + "<p class=\"note\">No frames were captured.</p>\n"
    } else {
      let quoted = isFirst ? TextRenderer(verbose: true).quotedFrames(of: thread) : []
      let rows = StackLayout(thread, verbose: false).rows.map { row($0, of: thread, quoted: quoted, in: report) }
      html = html + "<ol class=\"stack\">\n\(rows.joined())</ol>\n"
    }
    return html + registers(thread.registers) + "</details>"
  }

  private func row(
    _ row: StackLayout.Row, of thread: CrashReport.CrashedThread, quoted: Set<Int>, in report: CrashReport
  ) -> HTMLText {
    switch row {
    case .frame(let index):
      let frame = thread.frames[index]
      // Only the first source excerpts are expanded. The first frames are the most important, and more expanded
      // excerpts would make the page too long.
      let isOpen = quoted.sorted().prefix(Self.openQuotes).contains(index)
      return self.frame(frame, number: index, in: report) + (quoted.contains(index) ? quote(frame, isOpen: isOpen) : "")
    case .folded(let range):
      let rows = range.map { frame(thread.frames[$0], number: $0, in: report) }
      return """
        <li class="fold"><details><summary>\(range.count) runtime frames</summary><ol class="stack">
        \(rows.joined())</ol></details></li>
        """
    case .repeated(let period, let times):
      let what = period == 1 ? "the same frame" : "the same \(period) frames"
      return "<li class=\"note\">… \(what) \(counted(times, "more time"))</li>"
    case .gap(let count): return "<li class=\"note\">… \(counted(count, "frame")) of a deep recursion left out</li>"
    case .awaitedBy: return "<li class=\"note\">awaited by</li>"
    }
  }

  private func frame(_ frame: CrashReport.Frame, number: Int, in report: CrashReport) -> HTMLText {
    let kind: HTMLText = frame.isOwn ? "own" : "runtime"
    return """
      <li class="\(kind)"><span class="number">\(number)</span> <span class="function" \
      title="\(FrameText.machineDetail(of: frame, in: report))">\(FrameText.name(of: frame))</span>\
      <span class="note">\(FrameText.notes(on: frame))</span> \
      <span class="place">\(FrameText.place(of: frame, in: report))</span></li>
      """
  }

  private static let openQuotes = 3

  private func quote(_ frame: CrashReport.Frame, isOpen: Bool) -> HTMLText {
    guard let excerpt = source?(frame) else { return "" }
    let rows: [HTMLText] = excerpt.lines.enumerated().map { offset, line in
      let number = excerpt.first + offset
      let kind: HTMLText = number == excerpt.line ? " class=\"here\"" : ""
      return "<span\(kind)><span class=\"number\">\(number)</span> \(line)</span>"
    }
    let lines: HTMLText = "<pre class=\"source\">\(rows.joined())</pre>"
    if isOpen { return "\n<li class=\"quote\">\(lines)</li>" }
    return "\n<li class=\"quote\"><details><summary>source</summary>\(lines)</details></li>"
  }

  private func registers(_ registers: [String: Address]) -> HTMLText {
    if registers.isEmpty { return "" }
    let cells: [HTMLText] = RegisterOrder.sorted(registers.keys).map { name in
      "<div><dt>\(name)</dt><dd>\((registers[name] ?? 0).description)</dd></div>"
    }
    return "<details><summary>Registers</summary>\n<dl class=\"registers\">\n\(cells.joined())</dl></details>\n"
  }
}
