import ArgumentParser
import CrashControl
import Glibc
import LinuxSystem

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Crashes a few programs on purpose, and shows what is reported.",
    discussion: """
      Nothing of it reaches the machine's crashd: the demo starts one of its own, and removes it. "demo dangling" restarts a \
      program that uses a dead object until crashd protects it, and it survives.
      """)

  enum Topic: String, ExpressibleByArgument, CaseIterable {
    case crashes
    case dangling
  }

  @Argument(help: "What to show: crashes or dangling.")
  var topic = Topic.crashes

  func run() throws {
    let environment = processEnvironment()
    let terminal = Terminal(descriptor: STDOUT_FILENO, environment: environment)
    let demonstration = Demonstration(terminal: terminal, environment: environment)
    switch topic {
    case .crashes: try demonstration.run()
    case .dangling: try demonstration.runDangling()
    }
  }
}
