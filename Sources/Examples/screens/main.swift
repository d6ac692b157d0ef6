// screens [--without] [TAPS]: a navigation stack in the terminal, with or without a TransitionQueue. Each letter is a
// tap: p pushes a screen, b goes back, h goes to the first screen, . waits until no transition is running, q quits. The
// taps of one line arrive during the slide of a screen, like the taps of a user in a hurry. Without the queue `pp.b`
// ends the program.
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc

/// Prints a line without buffering, so that the line appears even if the program ends right afterwards.
func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  // Ignore an error, because the reader can have closed the pipe. Invariant: write reads as many bytes as the array
  // has.
  _ = unsafe write(STDOUT_FILENO, line, line.count)
}

/// Performs taps, and prints the result of each tap.
@MainActor
final class Terminal {
  private let navigation: any Navigation
  private let window: Window
  private var made = 0

  init(isQueued: Bool) {
    let home = Screen("home")
    window = Window(home, slide: .milliseconds(400))
    navigation =
      isQueued ? QueuedNavigation(root: home, window: window) : PlainNavigation(root: home, window: window)
  }

  /// Performs all taps of a line.
  ///
  /// Returns false if a tap quits the program.
  func tap(_ taps: String) async -> Bool {
    for tap in taps {
      switch tap {
      case "p":
        made += 1
        tell("push \(made)", navigation.push(Screen("\(made)")))
      case "b": tell("back", navigation.pop())
      case "h": tell("to the first", navigation.popToRoot())
      case ".":
        while !navigation.isIdle { try? await Task.sleep(for: .milliseconds(10)) }
        tell("all is still", "")
      case "q": return false
      case " ": break
      default: tell("'\(tap)'", "p another screen, b back, h to the first, . waits, q ends")
      }
    }
    return true
  }

  private func tell(_ tap: String, _ outcome: String) {
    let stack = navigation.stack.map(\.name).joined(separator: " > ")
    let isRight = !navigation.isIdle || window.shown === navigation.stack.last
    say(
      column(tap, 14) + column(outcome, 26) + column(stack, 26) + "shown: \(window.shown.name)"
        + (window.isSliding ? ", sliding" : "") + (isRight ? "" : "  (!)"))
  }

  private func column(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}

Shield.onIncident { incident in say("  recorded: \(incident.kind.name), \(incident.reason)") }
// If the start fails, print the error and continue, because the program also works without the shield.
if let error = Shield.start().startError { say("no shield: \(error)") }

var arguments = CommandLine.arguments.dropFirst()
let isQueued = arguments.first != "--without"
if !isQueued { arguments.removeFirst() }
guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
  say("usage: screens [--without] [TAPS]")
  exit(64)
}
let terminal = Terminal(isQueued: isQueued)
if let taps = arguments.first {
  _ = await terminal.tap(taps)
} else {
  say("p another screen, b back, h to the first, . waits, q ends; several letters, then Enter: pp.bb")
  let lines = AsyncStream<String> { continuation in
    // Read the user's input on a separate thread, because reading blocks.
    DispatchQueue.global().async {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
  }
  for await line in lines where await !terminal.tap(line) { break }
}
say("\(isQueued ? "with" : "without") the queue: survived")
