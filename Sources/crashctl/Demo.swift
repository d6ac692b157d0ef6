import ArgumentParser
import CrashControl
import Glibc

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Crashes a few programs on purpose, and shows what is reported.",
    discussion: "Nothing of it reaches the machine's crashd: the demo starts one of its own, and removes it.")

  func run() throws {
    let environment = processEnvironment()
    let terminal = Terminal(descriptor: STDOUT_FILENO, environment: environment)
    try Demonstration(terminal: terminal, environment: environment).run()
  }
}
