import CrashReport

extension [CrashReport.Frame] {
  /// Returns the frames, and adds a source line to the innermost in-app frame (a frame of the program itself) if this
  /// frame has no exact line.
  ///
  /// The line is taken from the runtime error message. swiftc merges the calls of `fatalError` in a function and
  /// assigns line 0 to them, but the message contains the original line.
  func withLine(of place: RuntimeReports.SourcePlace?) -> [CrashReport.Frame] {
    guard let place, let number = firstIndex(where: { $0.isOwn }),
      self[number].line == nil || self[number].isLineApproximate == true,
      self[number].file?.split(separator: "/").last.map(String.init) == place.file
    else { return self }
    var frames = self
    frames[number].line = place.line
    frames[number].column = nil
    frames[number].isLineApproximate = nil
    return frames
  }
}
