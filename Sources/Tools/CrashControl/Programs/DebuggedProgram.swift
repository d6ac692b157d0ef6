internal import CrashReport

/// The executable of a report, as an argument for a debugger.
///
/// The crashed process chose the path, which is untrusted input, and a debugger interprets its arguments. gdb parses
/// `-ex=shell …` as an option. lldb copies arguments into commands, in which a line feed ends the command and a
/// backtick starts an expression. Therefore the path must be absolute and consist of plain characters. The file at the
/// path must have the build id of the report.
///
/// Limit: the owner of the directory can replace the file before the debugger opens it. This limit is acceptable,
/// because debuggers routinely open files of other users, and do not execute code from them.
struct DebuggedProgram {
  /// The reason why the path is not passed to the debugger.
  struct Refusal: Error, Equatable {
    var reason: String
  }

  /// The path, which is safe as an argument.
  let path: String

  init(of process: CrashReport.ProcessIdentity) throws(Refusal) {
    let path = process.executable
    guard path.hasPrefix("/") else { throw Refusal(reason: "is not an absolute path") }
    guard path.unicodeScalars.allSatisfy(Self.isPlain) else {
      throw Refusal(reason: "has characters that a debugger may take for commands")
    }
    guard !process.buildID.isEmpty else {
      throw Refusal(reason: "crashed without a build id, so it may be another build")
    }
    guard ImageBuildID.read(path) == process.buildID else { throw Refusal(reason: "is not the build that crashed") }
    self.path = path
  }

  /// Whether the character is a letter of any script, a digit, a blank, or punctuation that debuggers do not interpret
  /// inside quotation marks.
  static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\"", "'", "`", "\\", "$", "\u{fffd}": false
    default: !CleanText.isUnsafe(scalar) && scalar != "\t" && scalar != "\n"
    }
  }
}
