import CrashReport

/// The words that every sink uses for a crash.
extension CrashReport {
  /// The first crashed thread; for a silent death the first of all.
  var mainThread: CrashedThread? { threads.first(where: \.crashed) ?? threads.first }

  /// The first own frame, else the innermost one, of the crashed thread.
  var blamedFrame: Frame? {
    let frames = mainThread?.frames ?? []
    return frames.first(where: \.isOwn) ?? frames.first
  }

  /// One line for people.
  var headline: String {
    let sentence = diagnosis.sentence.isEmpty ? reason : diagnosis.sentence
    return CleanText.line("\(process.name)[\(process.pid)] crashed by \(signal.name): \(sentence)")
  }

  /// The crashed thread's frames, a line each, as backtraces are written.
  func stackText(limit: Int = 128) -> String {
    let frames = mainThread?.frames ?? []
    var lines = frames.prefix(limit).enumerated().map { index, frame in
      let place = frame.file.map { file in " at \(file)" + (frame.line.map { ":\($0)" } ?? "") }
      return CleanText.line(
        "#\(index) \(frame.address) \(frame.name)" + (place ?? frame.image.map { " in \($0)" } ?? ""))
    }
    let omitted = frames.count - lines.count + (mainThread?.framesOmitted ?? 0)
    if omitted > 0 { lines.append("(\(omitted) more)") }
    return lines.joined(separator: "\n")
  }
}

extension CrashReport.Frame {
  /// The function, else its linkage name, else `??`.
  var name: String { function.isEmpty ? (mangled.isEmpty ? "??" : mangled) : function }
}
