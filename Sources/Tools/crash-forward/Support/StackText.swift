import CrashReport

/// The texts that several sinks use to describe a crash.
extension CrashReport {
  /// The main thread of a crash: the first crashing thread.
  ///
  /// For an unreported exit, the result is the first thread.
  var mainThread: CrashedThread? { threads.first(where: \.crashed) ?? threads.first }

  /// The first in-app frame of the main thread, or its innermost frame if it has no in-app frame.
  var blamedFrame: Frame? {
    let frames = mainThread?.frames ?? []
    return frames.first(where: \.isOwn) ?? frames.first
  }

  /// A summary of the crash in one line.
  var headline: String {
    let sentence = diagnosis.sentence.isEmpty ? reason : diagnosis.sentence
    return CleanText.line("\(process.name)[\(process.pid)] crashed by \(signal.name): \(sentence)")
  }

  /// Returns the backtrace of the main thread, one line per frame.
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
  /// The name of the function; if the name is unknown, the linkage name; if both are unknown, `??`.
  var name: String { function.isEmpty ? (mangled.isEmpty ? "??" : mangled) : function }
}
