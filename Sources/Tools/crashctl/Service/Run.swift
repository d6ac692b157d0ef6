import ArgumentParser
import CrashControl
import LinuxSystem

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a program under a private crashd and show why it crashed",
    usage: "crashctl run [--keep] [--json <mode>] -- PROGRAM [ARGUMENT ...]",
    discussion: """
      crashctl loads CrashShield with LD_PRELOAD into a program that was built without it. The library is \
      libcrashshield.so beside crashctl, in ../lib, or at CRASHSHIELD_LIBRARY. crashctl does not touch the program's \
      input and output: reports go to standard error. crashctl ends with the exit code of the program, or by the \
      signal that ended it. The exit code is 127 if the program is not found, and 126 if it cannot be executed.
      """)

  @Flag(help: "Keep the directory with crashd's log and store, and print its path")
  var keep = false

  @Option(help: ArgumentHelp("Print reports as JSON: pretty, short or off", valueName: "mode"))
  var json = JSONStyle.off

  @Argument(parsing: .captureForPassthrough, help: "Program and its arguments", completion: .file())
  var command: [String] = []

  func run() throws {
    // With captureForPassthrough, `command` also contains this verb's options and the separator `--`.
    guard let first = command.first, command != ["--"] else {
      throw ValidationError("run needs a program: crashctl run -- PROGRAM ARGS…")
    }
    if ["-h", "--help"].contains(first) { throw CleanExit.helpRequest(self) }
    let words = first == "--" ? Array(command.dropFirst()) : command
    guard let program = words.first, first == "--" || !program.hasPrefix("-") else {
      throw ValidationError("unknown option '\(first)' of run: crashctl run [--keep] -- PROGRAM ARGS…")
    }
    try ProgramRun(command: words, keepsDirectory: keep, style: json, environment: processEnvironment())
      .runAndEndAlike()
  }
}
