// guard-host: a program in which each line of its standard input causes a fault at a guard, for tests and for trying
// out `crashctl guards`. The line "self-test" runs a self-test of the guards, "broken" adds a check that fails, and
// "last-crash" requests the last crash. The program writes "attached" when crashd has accepted it. For each fault it
// writes the mode in force, and whether it continues. If the guard does not absorb, the process ends as without a
// guard.
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc

func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  // A reader that has ended causes an error, which is ignored.
  _ = unsafe write(1, line, line.count)
}

let attached = DispatchSemaphore(value: 0)
// An override takes precedence over the program's own mode.
let word = CommandLine.arguments.dropFirst().first
if let mode = ShieldMode.allCases.first(where: { "\($0)" == word }) { Shield.setMode(mode) }
do {
  try Shield.startOrThrow(Shield.Configuration { status in if status.connection == .attached { attached.signal() } })
} catch {
  say("\(error)")
  exit(1)
}

/// Runs a self-test of the guards and waits for its result.
func selfTest(_ others: [ShieldCheck]) {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    _ = await Shield.selfTest(including: others)
    done.signal()
  }
  done.wait()
  say("asked")
}

/// Waits for the last crash and writes it.
func sayLastCrash() {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    let crash = await Shield.lastCrash(within: .seconds(600))
    say(crash.map { "\($0.id) \($0.time > .zero) \($0.sentence)" } ?? "none")
    done.signal()
  }
  done.wait()
}

attached.wait()
say("attached")
let parts = ["a", "b"]
while let line = readLine() {
  if line == "self-test" {
    selfTest([])
    continue
  }
  if line == "last-crash" {
    sayLastCrash()
    continue
  }
  if line == "broken" {
    selfTest([ShieldCheck("a check that fails", .gate) { _ in false }])
    continue
  }
  say("\(Shield.mode(for: .index))")
  // A value that the compiler does not know.
  let place = Int(getpid())
  say("\(parts[shielded: place] == nil)")
}
