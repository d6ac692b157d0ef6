// guard-host: a program whose guard meets a fault for each line of its standard input; for the tests, and for trying out
// `crashctl guards`. A line "self-test" has its guards asked instead, "broken" with one beside them that fails, and
// "last-crash" asks for the last crash. It says "attached" when crashd has it, then for each fault the mode that is in
// force, and that it goes on; where the guard does not absorb, the process ends as it would without one.
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc

func say(_ text: String) {
  let line = Array((text + "\n").utf8)
  // The reader may have ended, which does not matter here.
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

/// Asks the guards, and waits for it.
func selfTest(_ others: [ShieldCheck]) {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    _ = await Shield.selfTest(including: others)
    done.signal()
  }
  done.wait()
  say("asked")
}

/// Waits for the last crash, and says it.
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
  // Nothing known to the compiler.
  let place = Int(getpid())
  say("\(parts[shielded: place] == nil)")
}
