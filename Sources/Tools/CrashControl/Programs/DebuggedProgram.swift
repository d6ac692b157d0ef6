internal import CrashReport

/// The executable of a report, as an argument for a debugger.
///
/// The crashed process chose the path, and a debugger obeys its arguments: to gdb `-ex=shell …` is an option, and lldb
/// writes its arguments into commands, which a line feed ends and a backtick opens. Hence only an absolute path of plain
/// characters passes, and only while its file has the report's build id.
///
/// Limit: the owner of the directory can replace the file before the debugger opens it. Debuggers open files of other
/// users all the time, and run nothing that stands in them.
struct DebuggedProgram {
  /// The reason why the debugger does not get the path.
  struct Refusal: Error, Equatable {
    var reason: String
  }

  /// A safe argument.
  let path: String

  init(of process: CrashReport.ProcessIdentity) throws(Refusal) {
    let path = process.executable
    guard path.hasPrefix("/") else { throw Refusal(reason: "is no absolute path") }
    guard path.unicodeScalars.allSatisfy(Self.isPlain) else {
      throw Refusal(reason: "has characters that a debugger may take for commands")
    }
    guard !process.buildID.isEmpty else {
      throw Refusal(reason: "crashed without a build id, so it may be another build")
    }
    guard ImageBuildID.read(path) == process.buildID else { throw Refusal(reason: "is not the build that crashed") }
    self.path = path
  }

  /// Letters of all scripts, digits, blanks and the signs without a meaning to debuggers inside quotation marks.
  static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\"", "'", "`", "\\", "$", "\u{fffd}": false
    default: !CleanText.isUnsafe(scalar) && scalar != "\t" && scalar != "\n"
    }
  }
}
