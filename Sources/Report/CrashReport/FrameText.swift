/// Formats the parts of one frame for all formats of a report.
///
/// The results are safe to print.
enum FrameText {
  /// Returns the source file of a frame.
  ///
  /// Returns nil for compiler-generated code, because the file in its debug information does not exist.
  static func sourceFile(of frame: CrashReport.Frame) -> String? {
    guard let file = frame.file, !file.hasSuffix("<compiler-generated>") else { return nil }
    return CleanText.line(file)
  }

  /// Returns the function or its linkage name, shortened to at most `FunctionName.limit` characters.
  ///
  /// If the frame has neither name, returns the address.
  static func name(of frame: CrashReport.Frame) -> String {
    if !frame.function.isEmpty { return CleanText.line(FunctionName.short(frame.function)) }
    return frame.mangled.isEmpty ? frame.address.description : CleanText.line(FunctionName.short(frame.mangled))
  }

  /// Returns `file:line:column`.
  ///
  /// If the line is unknown, returns the image.
  static func place(of frame: CrashReport.Frame, in report: CrashReport) -> String {
    guard var place = sourceFile(of: frame) else { return offset(of: frame, in: report, short: true) }
    if let line = frame.line {
      place += ":\(line)"
      if let column = frame.column { place += ":\(column)" }
    }
    return place
  }

  /// Returns notes about the reliability of a frame.
  static func notes(on frame: CrashReport.Frame) -> String {
    var notes = frame.isInline ? " [inlined]" : ""
    if frame.isLineApproximate == true { notes += " [nearest line]" }
    // Add a note only to a frame that was not found reliably.
    switch frame.trust {
    case .scan: notes += " [uncertain: found by scanning the stack]"
    case .framePointer: notes += " [by frame pointer]"
    case .unknown: notes += " [uncertain]"
    default: break
    }
    return notes
  }

  /// Returns the address, the image and the linkage name.
  ///
  /// If `short` is true, only the file name of the image is included.
  static func machineDetail(of frame: CrashReport.Frame, in report: CrashReport, short: Bool = false) -> String {
    let inImage = offset(of: frame, in: report, short: short)
    let found =
      "\(frame.address)\(inImage.isEmpty ? "" : " in \(inImage)"), found by \(CleanText.line(frame.trust.rawValue))"
    return frame.mangled.isEmpty ? found : "\(found), \(CleanText.line(frame.mangled))"
  }

  /// Returns the image with an offset, such as `libc.so.6+0x1234`.
  ///
  /// addr2line accepts the offset.
  static func offset(of frame: CrashReport.Frame, in report: CrashReport, short: Bool) -> String {
    guard let path = frame.image else { return "" }
    let name = short ? path.split(separator: "/").last.map(String.init) ?? path : path
    let image = report.images.first {
      $0.path == path && $0.base <= frame.address && frame.address <= $0.end
    }
    guard let image else { return CleanText.line(name) }
    return CleanText.line(name) + "+" + Address(frame.address.rawValue - image.base.rawValue).description
  }
}

extension CrashReport.Frame {
  /// Formats a source location, such as `main.swift:42`.
  ///
  /// The result is empty if the file is unknown.
  package static func position(file: String?, line: Int?) -> String {
    guard let file, !file.isEmpty else { return "" }
    let name = file.split(separator: "/").last.map(String.init) ?? file
    return line.map { "\(name):\($0)" } ?? name
  }
}
