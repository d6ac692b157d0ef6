import ArgumentParser
import CrashControl
import Glibc
import LinuxSystem

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Crash a few programs on purpose and show their reports",
    discussion: """
      The demo uses a temporary crashd of its own, not the machine's. "demo dangling" restarts a program with a \
      use-after-free until crashd protects it and it survives.
      """)

  enum Topic: String, ExpressibleByArgument, CaseIterable {
    case crashes
    case dangling
  }

  @Argument(help: "Demo to run: crashes or dangling")
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
