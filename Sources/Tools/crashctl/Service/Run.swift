import ArgumentParser
import CrashControl
import LinuxSystem

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs a program under a crashd of its own, and shows why it crashed.",
    usage: "crashctl run [--keep] [--json <mode>] -- PROGRAM [ARGUMENT ...]",
    discussion: """
      A program that was not built with CrashShield gets it by LD_PRELOAD (libcrashshield.so, which lies beside \
      crashctl, in ../lib, or where CRASHSHIELD_LIBRARY says). Its input and output stay its own: reports go to standard error. \
      crashctl ends as the program ended, with its exit code or by its signal; 127 when there is no such program, 126 \
      when it cannot be executed.
      """)

  @Flag(help: "Keep crashd's directory, with its log and its store, and say where it is.")
  var keep = false

  @Option(help: ArgumentHelp("Print reports as JSON: pretty, short or off.", valueName: "mode"))
  var json = JSONStyle.off

  @Argument(parsing: .captureForPassthrough, help: "The program and its arguments.", completion: .file())
  var command: [String] = []

  func run() throws {
    // Passing everything through, the parser passes on its own options and the separator too.
    guard let first = command.first, command != ["--"] else {
      throw ValidationError("run takes a program: crashctl run -- PROGRAM ARGS…")
    }
    if ["-h", "--help"].contains(first) { throw CleanExit.helpRequest(self) }
    let words = first == "--" ? Array(command.dropFirst()) : command
    guard let program = words.first, first == "--" || !program.hasPrefix("-") else {
      throw ValidationError("run does not know '\(first)': crashctl run [--keep] -- PROGRAM ARGS…")
    }
    try ProgramRun(command: words, keepsDirectory: keep, style: json, environment: processEnvironment())
      .runAndEndAlike()
  }
}
