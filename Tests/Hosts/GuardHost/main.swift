// guard-host: a program with guards, for tests and for trying `crashctl guards`. The lines of its standard input are
// commands: "self-test" runs a self-test of the guards, "broken" one with a check that fails, "last-crash" requests the
// last crash, and any other line makes a guarded operation fault. The program writes "attached" when crashd has
// accepted the process. For each fault, it writes the guard mode that applies, and whether the program continues. If
// the guard does not absorb the fault, the process ends as it would without a guard.
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc

func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  // If nothing reads the output any more, write() fails, and the program ignores the error.
  _ = unsafe write(1, line, line.count)
}

let attached = DispatchSemaphore(value: 0)
// Set the program's own mode. An operator's override takes precedence over this mode.
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

/// Waits until the last crash is available and writes it.
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
  // A value that the compiler cannot compute.
  let place = Int(getpid())
  say("\(parts[shielded: place] == nil)")
}
