import CrashReport

extension [CrashReport.Frame] {
  /// The frames.
  ///
  /// If the innermost in-app frame has no line, it gets the line of the runtime's message.
  ///
  /// swiftc merges the calls of `fatalError` in a function and assigns them line 0, but the message still has the line.
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
