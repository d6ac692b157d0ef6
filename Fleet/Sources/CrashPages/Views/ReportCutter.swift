internal import CrashReport

/// Renders a very large report, which a hostile program can cause: truncates every long string.
struct ReportCutter {
  private let report: CrashReport

  init(_ report: CrashReport) { self.report = report }

  /// Returns HTML of at most `limitBytes` bytes, or nothing if even the shortest form is longer.
  func html(limitBytes: Int) -> String {
    for (length, frames) in [(300, 60), (120, 40), (60, 16)] {
      let html = HTMLRenderer().fragment(cut(to: length, frames: frames))
      if html.utf8.count <= limitBytes { return html }
    }
    return ""
  }

  private func cut(to length: Int, frames: Int) -> CrashReport {
    let clip = { (text: String) in CrashText.clip(text, to: length) }
    var cut = report
    (cut.images, cut.breadcrumbs, cut.incidents, cut.inFlight) = ([], [], nil, nil)
    cut.earlierRuntimeWarnings = nil
    cut.annotations = Dictionary(
      report.annotations.sorted { $0.key < $1.key }.prefix(8).map { (clip($0.key), clip($0.value)) },
      uniquingKeysWith: { first, _ in first })
    cut.reason = clip(report.reason)
    cut.diagnosis.sentence = clip(report.diagnosis.sentence)
    cut.diagnosis.evidence = report.diagnosis.evidence.map(clip)
    cut.group.title = clip(report.group.title)
    cut.process.name = clip(report.process.name)
    cut.process.executable = clip(report.process.executable)
    cut.process.commandLine = report.process.commandLine.map(clip)
    cut.threads = report.threads.filter(\.crashed).prefix(2).map { thread in
      var short = thread
      short.name = clip(thread.name)
      short.reason = thread.reason.map(clip)
      short.frames = thread.frames.prefix(frames).map { frame in
        var small = frame
        small.function = clip(frame.function)
        (small.file, small.image) = (frame.file.map(clip), frame.image.map(clip))
        (small.mangled, small.signature) = ("", nil)
        return small
      }
      return short
    }
    return cut
  }
}
