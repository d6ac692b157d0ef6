/// The texts of one frame, safe to show, for all formats of a report.
enum FrameText {
  /// Returns the source file.
  ///
  /// Returns nil for compiler-generated code, whose "file" does not exist.
  static func sourceFile(of frame: CrashReport.Frame) -> String? {
    guard let file = frame.file, !file.hasSuffix("<compiler-generated>") else { return nil }
    return CleanText.line(file)
  }

  /// Returns the function or its linkage name, in at most `FunctionName.limit` characters.
  ///
  /// Without a name it returns the address.
  static func name(of frame: CrashReport.Frame) -> String {
    if !frame.function.isEmpty { return CleanText.line(FunctionName.short(frame.function)) }
    return frame.mangled.isEmpty ? frame.address.description : CleanText.line(FunctionName.short(frame.mangled))
  }

  /// Returns `file:line:column`, or the image if the line is unknown.
  static func place(of frame: CrashReport.Frame, in report: CrashReport) -> String {
    guard var place = sourceFile(of: frame) else { return offset(of: frame, in: report, short: true) }
    if let line = frame.line {
      place += ":\(line)"
      if let column = frame.column { place += ":\(column)" }
    }
    return place
  }

  /// Notes about the reliability of a frame.
  static func notes(on frame: CrashReport.Frame) -> String {
    var notes = frame.isInline ? " [inlined]" : ""
    if frame.isLineApproximate == true { notes += " [nearest line]" }
    // Only frames with an uncertain address get a note.
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
  /// With `short` only the file name of the image is included.
  static func machineDetail(of frame: CrashReport.Frame, in report: CrashReport, short: Bool = false) -> String {
    let inImage = offset(of: frame, in: report, short: short)
    let found =
      "\(frame.address)\(inImage.isEmpty ? "" : " in \(inImage)"), found by \(CleanText.line(frame.trust.rawValue))"
    return frame.mangled.isEmpty ? found : "\(found), \(CleanText.line(frame.mangled))"
  }

  /// Returns the image and the offset, such as `libc.so.6+0x1234`, which addr2line accepts.
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
  /// Formats a source location, such as `main.swift:42`, or empty if the file is unknown.
  package static func position(file: String?, line: Int?) -> String {
    guard let file, !file.isEmpty else { return "" }
    let name = file.split(separator: "/").last.map(String.init) ?? file
    return line.map { "\(name):\($0)" } ?? name
  }
}
