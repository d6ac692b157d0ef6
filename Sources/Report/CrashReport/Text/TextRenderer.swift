/// Renders a report as readable text.
///
/// The output begins with the sentence of the diagnosis, the runtime error message, and the crashed thread. In-app
/// frames stand out, and runtime frames are folded.
///
/// The output contains no control characters except line feeds. With `color`, the output also contains escape sequences
/// of the renderer itself.
public struct TextRenderer: Sendable {
  /// Whether to use ANSI colors.
  public var color: Bool
  /// The width of the output, in terminal columns.
  ///
  /// Lines are fitted to this width, but the name of an in-app function is never truncated.
  public var width: Int
  /// Whether to show all frames with their addresses, the registers, the images, and the threads that did not crash.
  public var verbose: Bool
  /// Whether to show the registers.
  public var showsRegisters: Bool
  /// Whether to show the threads that did not crash.
  public var showsThreads: Bool
  /// Whether to show the loaded ELF images.
  public var showsImages: Bool
  /// A function that finds source excerpts; nil if no excerpts are shown.
  ///
  /// An excerpt is shown for the first in-app frame of the crash. The verbose form shows an excerpt for each in-app
  /// frame.
  public var source: SourceLookup?
  /// The format in which times of the report are shown.
  public var times: ReportTimes

  /// Creates a renderer.
  ///
  /// The smallest possible `width` is 40.
  public init(
    color: Bool = false, width: Int = 100, verbose: Bool = false, source: SourceLookup? = nil,
    times: ReportTimes = .utc
  ) {
    self.color = color
    self.width = max(40, width)
    self.verbose = verbose
    (showsRegisters, showsThreads, showsImages) = (verbose, verbose, verbose)
    self.source = source
    self.times = times
  }

  /// Returns the rendered report, which ends with a line feed.
  public func render(_ report: CrashReport) -> String {
    var sections = [headline(report)]
    let crashed = report.threads.filter(\.crashed)
    for (index, thread) in crashed.enumerated() {
      sections.append(threadSection(thread, isFirst: index == 0, in: report))
    }
    sections.append(guardedObjectSection(report))
    sections.append(detailsSection(report))
    sections.append(annotationsSection(report))
    sections.append(breadcrumbsSection(report))
    sections.append(requestsSection(report))
    sections.append(earlierWarningsSection(report))
    sections.append(incidentsSection(report))
    let others = report.threads.filter { !$0.crashed }
    if showsThreads {
      sections += otherThreadSections(others, in: report)
    } else if !others.isEmpty {
      let silent = others.count { $0.silence != nil }
      let note = silent == 0 ? "" : " (\(silent) of them without a stack)"
      sections.append([style.faint("\(counted(others.count, "other thread")) not shown\(note): see --threads or -v.")])
    }
    if showsImages { sections.append(imagesSection(report)) }
    sections.append(replacedHandlersSection(report))
    sections.append(unwindingSection(report))
    sections.append(factsSection("Machine", report.machineFacts))
    sections.append(factsSection("Process", report.processFacts))
    sections.append(symbolsSection(report))
    sections.append(lossesSection(report))
    return sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
  }

  var style: TextStyle { TextStyle(color: color) }

  /// The width of sentences, in columns.
  ///
  /// This width is limited, because sentences on wider lines are hard to read. Stacks use the whole width of the
  /// output.
  var prose: Int { min(width, 120) }

  /// Returns the sentence of the diagnosis.
  ///
  /// If the runtime error message contains further information, it follows the sentence.
  private func headline(_ report: CrashReport) -> [String] {
    let sentence = CleanText.line(report.diagnosis.sentence)
    let title = sentence.isEmpty ? "\(report.process.name) crashed by \(report.signal.name)" : sentence
    var lines = CleanText.line(title).wrapped(to: prose).map(style.alarm)
    if report.reason != report.diagnosis.sentence { lines += reasonLines(report.reason) }
    lines += requestLines(report.request)
    if let text = report.containmentText { lines += text.wrapped(to: prose) }
    if report.isPreliminary == true {
      lines += "Preliminary: crashd still reads the symbols. Show the report again in a few seconds.".wrapped(to: prose)
    }
    let origin = CleanText.line(report.origins.joined(separator: " · "))
    return origin.isEmpty ? lines : lines + origin.wrapped(to: width).map(style.faint)
  }

  func threadSection(
    _ thread: CrashReport.CrashedThread, isFirst: Bool, in report: CrashReport
  ) -> [String] {
    var lines = threadHeading(thread, isFirst: isFirst, in: report).wrapped(to: prose).map(style.strong)
    if let reason = thread.reason, reason != report.reason || !isFirst { lines += reasonLines(reason) }
    if let task = thread.task { lines += describe(task).wrapped(to: width).map(style.faint) }
    if !isFirst { lines += requestLines(thread.request) }
    lines.append("")
    let stack = StackLayout(thread, verbose: verbose)
    let quoted = isFirst ? quotedFrames(of: thread) : []
    lines += stack.rows.flatMap { row in
      let text = rowLines(row, of: thread, in: report)
      guard case .frame(let index) = row, quoted.contains(index) else { return text }
      return text + sourceLines(of: thread.frames[index])
    }
    if thread.frames.isEmpty { lines.append("  \(thread.silence.map(describe) ?? "no frames were captured")") }
    if showsRegisters && !thread.registers.isEmpty { lines += [""] + registerLines(thread.registers) }
    return lines
  }

  func threadName(_ thread: CrashReport.CrashedThread) -> String {
    if let worker = ThreadName.worker(thread.name) { return "\(thread.tid) (\(worker))" }
    let name = CleanText.line(thread.name)
    return "\(thread.tid)" + (name.isEmpty ? "" : " \"\(name)\"")
  }

  private func threadHeading(
    _ thread: CrashReport.CrashedThread, isFirst: Bool, in report: CrashReport
  ) -> String {
    let who = "Thread \(threadName(thread))"
    guard thread.crashed else { return who }
    let signal = thread.signal ?? report.signal
    let also = isFirst ? "" : "also "
    return "\(who) of \(CleanText.line(report.process.name)) \(also)crashed by \(describe(signal, in: report)):"
  }

  /// Returns the lines of a runtime error message, indented.
  func reasonLines(_ reason: String) -> [String] {
    let text = CleanText.clean(reason)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
    return lines.flatMap { String($0).wrapped(to: prose - 2) }.map { "  \($0)" }
  }

  /// Returns a description of a signal, such as `SIGSEGV (SEGV_MAPERR) at 0x10`.
  func describe(_ signal: CrashReport.Signal, in report: CrashReport) -> String {
    var text = CleanText.line(signal.name)
    if !signal.codeName.isEmpty { text += " (\(CleanText.line(signal.codeName)))" }
    if let address = signal.address { text += " at \(address)" }
    if let sender = signal.sender {
      let pid = sender.pid == 0 ? "a process outside of its pid namespace," : "pid \(sender.pid) of"
      text += sender.pid == report.process.pid ? ", sent by itself" : ", sent by \(pid) uid \(sender.uid)"
    }
    return text
  }
}

/// Formats a count with its noun: `1 frame`, `2 frames`.
package func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}

extension String {
  /// Truncates the string to `width` characters.
  ///
  /// The last character of a truncated string is `…`.
  package func truncated(to width: Int) -> String {
    count <= width ? self : prefix(max(0, width - 1)) + "…"
  }

  /// Removes trailing blanks.
  var trimmingEnd: String { String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)]) }

  /// Breaks the string at blanks into lines of at most `width` characters.
  ///
  /// A word that is longer than a line is not broken, so that it can be copied.
  package func wrapped(to width: Int) -> [String] {
    if count <= width { return [self] }
    var lines: [String] = []
    for word in split(separator: " ", omittingEmptySubsequences: false) {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  /// Pads the string with blanks on the left.
  func rightAligned(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

  /// Pads the string with blanks on the right.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// The styles in a report, named by their purpose.
///
/// The styles use only the 16 colors that the theme of a terminal defines.
struct TextStyle {
  let color: Bool

  /// The style of the diagnosis and of errors.
  func alarm(_ text: String) -> String { wrap(text, "1;31") }
  /// The style of an in-app function.
  func own(_ text: String) -> String { wrap(text, "1") }
  /// The style of a source location in the program.
  func place(_ text: String) -> String { wrap(text, "1;33") }
  /// The style of the marker before an in-app frame.
  func marker(_ text: String) -> String { wrap(text, "1;31") }
  /// The style of a heading or label.
  func strong(_ text: String) -> String { wrap(text, "1") }
  /// The style of details that are rarely needed.
  func faint(_ text: String) -> String { wrap(text, "2") }
  /// The style of warnings about losses and uncertainty.
  func warning(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String {
    color && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
  }
}
