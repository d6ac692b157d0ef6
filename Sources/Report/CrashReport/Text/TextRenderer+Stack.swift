/// Renders the lines of one stack.
extension TextRenderer {
  func rowLines(
    _ row: StackLayout.Row, of thread: CrashReport.CrashedThread, in report: CrashReport
  ) -> [String] {
    switch row {
    case .frame(let index): return frameLines(thread.frames[index], index: index, in: report)
    case .folded(let range): return [foldedLine(thread.frames[range])]
    case .repeated(let period, let times):
      let what = period == 1 ? "the same frame" : "the same \(period) frames"
      return [style.faint("\(indent)… \(what) \(counted(times, "more time"))")]
    case .gap(let count):
      return [style.warning("\(indent)… \(counted(count, "frame")) of a deep recursion left out")]
    case .awaitedBy: return [style.faint("  awaited by")]
    }
  }

  /// Returns the indices of the frames below which a source excerpt is shown.
  func quotedFrames(of thread: CrashReport.CrashedThread) -> Set<Int> {
    let own = thread.frames.indices.filter { thread.frames[$0].isOwn && thread.frames[$0].line != nil }
    return Set(own.prefix(verbose ? Self.quoteLimit : 1))
  }

  private static let quoteLimit = 16

  /// Returns the source lines around the line of the frame, and marks this line.
  func sourceLines(of frame: CrashReport.Frame) -> [String] {
    guard let excerpt = source?(frame) else { return [] }
    let digits = "\(excerpt.first + excerpt.lines.count)".count
    return excerpt.lines.enumerated().map { offset, line in
      let number = excerpt.first + offset
      let isOwn = number == excerpt.line
      let bar = "\("\(number)".rightAligned(digits)) │ "
      let text = CleanText.line(line).truncated(to: width - indent.count - 2 - bar.count)
      let head = indent + (isOwn ? style.marker("▶ ") : "  ")
      return (head + style.faint(bar) + (isOwn ? style.own(text) : style.faint(text))).trimmingEnd
    }
  }

  /// Blanks with the width of the marker and the frame number.
  private var indent: String { "       " }

  private func foldedLine(_ frames: ArraySlice<CrashReport.Frame>) -> String {
    let names = frames.map { FrameText.name(of: $0) }.joined(separator: ", ")
    let text = "\(indent)… \(frames.count) runtime frames: \(names)"
    return style.faint(text.truncated(to: width))
  }

  private func frameLines(_ frame: CrashReport.Frame, index: Int, in report: CrashReport) -> [String] {
    let number = String(index).rightAligned(3)
    let notes = FrameText.notes(on: frame)
    let place = FrameText.place(of: frame, in: report)
    let fullName = FrameText.name(of: frame)
    let name = frame.isOwn ? fullName : fullName.truncated(to: width - indent.count)
    let plain = "\(indent)\(name)\(notes) at \(place)"
    let head: String
    let location: String
    if frame.isOwn {
      head = "\(style.marker(" ▶")) \(number) \(style.own(name))\(style.faint(notes))"
      location = FrameText.sourceFile(of: frame) == nil ? place : style.place(place)
    } else {
      head = style.faint("   \(number) \(name)\(notes)")
      location = style.faint(place)
    }
    var lines: [String]
    let link = FrameText.sourceFile(of: frame) == nil ? " in " : " at "
    if plain.count <= width || place.isEmpty {
      lines = [place.isEmpty ? head : head + style.faint(link) + location]
    } else {
      lines = [head, indent + style.faint(String(link.dropFirst())) + location]
    }
    if verbose {
      lines.append(style.faint("\(indent)  \(FrameText.machineDetail(of: frame, in: report, short: showsImages))"))
    }
    return lines
  }
}
