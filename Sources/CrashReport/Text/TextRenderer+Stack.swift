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
    let names = frames.map { name(of: $0) }.joined(separator: ", ")
    let text = "\(indent)… \(frames.count) runtime frames: \(names)"
    return style.faint(text.truncated(to: width))
  }

  /// nil also for the compiler's own code, whose "file" names nothing that one could open.
  private func sourceFile(of frame: CrashReport.Frame) -> String? {
    guard let file = frame.file, !file.hasSuffix("<compiler-generated>") else { return nil }
    return CleanText.line(file)
  }

  private func frameLines(_ frame: CrashReport.Frame, index: Int, in report: CrashReport) -> [String] {
    let number = String(index).rightAligned(3)
    let notes = notes(on: frame)
    let place = place(of: frame, in: report)
    let name = frame.isOwn ? name(of: frame) : name(of: frame).truncated(to: width - indent.count)
    let plain = "\(indent)\(name)\(notes) at \(place)"
    let head: String
    let location: String
    if frame.isOwn {
      head = "\(style.marker(" ▶")) \(number) \(style.own(name))\(style.faint(notes))"
      location = sourceFile(of: frame) == nil ? place : style.place(place)
    } else {
      head = style.faint("   \(number) \(name)\(notes)")
      location = style.faint(place)
    }
    var lines: [String]
    let link = sourceFile(of: frame) == nil ? " in " : " at "
    if plain.count <= width || place.isEmpty {
      lines = [place.isEmpty ? head : head + style.faint(link) + location]
    } else {
      lines = [head, indent + style.faint(String(link.dropFirst())) + location]
    }
    if verbose { lines.append(style.faint("\(indent)  \(machineDetail(of: frame, in: report))")) }
    return lines
  }

  private func name(of frame: CrashReport.Frame) -> String {
    if !frame.function.isEmpty { return CleanText.line(frame.function) }
    return frame.mangled.isEmpty ? frame.address.description : CleanText.line(frame.mangled)
  }

  /// `file:line:column`, or the image where there is no line.
  private func place(of frame: CrashReport.Frame, in report: CrashReport) -> String {
    guard var place = sourceFile(of: frame) else { return offset(of: frame, in: report, short: true) }
    if let line = frame.line {
      place += ":\(line)"
      if let column = frame.column { place += ":\(column)" }
    }
    return place
  }

  private func notes(on frame: CrashReport.Frame) -> String {
    var notes = frame.isInline ? " [inlined]" : ""
    // What may be wrong is marked; what is certain is not.
    switch frame.trust {
    case .scan: notes += " [uncertain: found by scanning the stack]"
    case .framePointer: notes += " [by frame pointer]"
    case .unknown: notes += " [uncertain]"
    default: break
    }
    return notes
  }

  private func machineDetail(of frame: CrashReport.Frame, in report: CrashReport) -> String {
    let inImage = offset(of: frame, in: report, short: false)
    let found =
      "\(frame.address)\(inImage.isEmpty ? "" : " in \(inImage)"), found by \(CleanText.line(frame.trust.rawValue))"
    return frame.mangled.isEmpty ? found : "\(found), \(CleanText.line(frame.mangled))"
  }

  /// Such as `libc.so.6+0x1234`: what one gives to addr2line.
  private func offset(of frame: CrashReport.Frame, in report: CrashReport, short: Bool) -> String {
    guard let path = frame.image else { return "" }
    let name = short ? path.split(separator: "/").last.map(String.init) ?? path : path
    let image = report.images.first {
      $0.path == path && $0.base <= frame.address && frame.address <= $0.end
    }
    guard let image else { return CleanText.line(name) }
    return CleanText.line(name) + "+" + Address(frame.address.rawValue - image.base.rawValue).description
  }
}
