import ArgumentParser
import CrashControl

struct Completion: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the completion script for a shell",
    discussion: """
      The package installs these scripts. To load a script by hand: source <(crashctl completion bash)
      """)

  @Argument(help: "Shell: bash, zsh or fish", completion: .list(["bash", "zsh", "fish"]))
  var shell: String

  func validate() throws {
    guard CompletionShell(rawValue: shell) != nil else {
      throw ValidationError("invalid shell '\(shell)': it is bash, zsh or fish")
    }
  }

  func run() throws {
    guard let shell = CompletionShell(rawValue: shell) else { return }
    try Output.write(CrashControlCommand.completionScript(for: shell) + "\n")
  }
}
