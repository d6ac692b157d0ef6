import CrashReport

extension [CrashReport.Frame] {
  /// The frames, with the line of the runtime's message where the innermost in-app frame has none.
  ///
  /// swiftc merges the calls of `fatalError` in a function, and gives them line 0; the message still has the line.
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
