/// The lines of one stack.
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

  /// As wide as the marker and the frame's number.
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
    if verbose { lines.append(style.faint("\(indent)  \(FrameText.machineDetail(of: frame, in: report))")) }
    return lines
  }
}
