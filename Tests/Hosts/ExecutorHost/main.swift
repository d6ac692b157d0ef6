// executor-host: a program whose executor checks fail, linked with CrashShieldExecutorChecks. The tests start
// executor-host by its path, because in their own process the hooks would apply to all tests.
// Usage: executor-host fault NAME [MODE [TIMES [THREADS]]] | served NAME MODE | correct MODE | places MODE |
// self-test MODE | chained | replaced | status, where MODE is plain, off, observe or absorb
import CTestKit
import CrashShield
import CrashShieldGuards
import CrashShieldExecutorChecks
import Foundation

/// Writes without a buffer, because the process can end at any time.
func tell(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

/// Writes the shield's records.
///
/// Writes each frame as an address in this program's file.
func tellRecords() {
  let base = UInt(cs_test_program_start())
  for incident in Shield.guardIncidents {
    let addresses = incident.frames.map { "0x" + String($0 &- base &- 1, radix: 16) }
    tell(
      "record \(incident.kind) \(incident.mode) \(incident.count) \(addresses.joined(separator: " ")) | \(incident.reason)"
    )
  }
}

/// Runs a body on a thread that has never run a task.
func elsewhere(_ body: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    body()
    done.signal()
  }
  done.wait()
}

func setMode(_ word: String) {
  // Writes the incident in the callback, because the fault can end the process afterwards.
  Shield.onIncident { tell("met \($0.kind) \($0.mode) \($0.count)") }
  if word == "plain" {
    Hooks.clear()
  } else if let mode = ShieldMode.allCases.first(where: { "\($0)" == word }) {
    Shield.setImplicitMode(mode)
  }
}

let arguments = CommandLine.arguments.dropFirst() + Array(repeating: "", count: 5)
let words = Array(arguments)
switch words[0] {
case "fault":
  guard let fault = Fault.all.first(where: { $0.name == words[1] }) else { exit(2) }
  setMode(words[2])
  let times = Int(words[3]) ?? 1
  let threads = Int(words[4]) ?? 1
  tell("before")
  if threads == 1 {
    elsewhere { for _ in 0..<times { fault.body() } }
  } else {
    DispatchQueue.global().sync {
      DispatchQueue.concurrentPerform(iterations: threads) { _ in
        elsewhere { for _ in 0..<times { fault.body() } }
      }
    }
  }
  tell("after")
  tellRecords()
case "correct":
  setMode(words[1])
  Correct.begin()
  dispatchMain()
case "served":
  // After dispatchMain(), any thread can run the work of the main queue, which has no thread of its own.
  setMode(words[2])
  let fault = Fault.all.first { $0.name == words[1] }
  DispatchQueue.main.async {
    tell("of the main thread: \(Thread.isMainThread)")
    MainActor.assumeIsolated { Screen.shared.draw() }
    DispatchQueue.global().async {
      tell("before")
      fault?.body()
      tell("after")
      tellRecords()
      exit(0)
    }
  }
  dispatchMain()
case "self-test":
  setMode(words[1])
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    for result in await Shield.selfTest(including: ShieldCheck.executorChecks)
    where result.check.hasPrefix("implicit:") {
      tell("\(result.verdict)")
    }
    done.signal()
  }
  done.wait()
  tell("records \(Shield.guardIncidents.count)")
case "places":
  setMode(words[1])
  elsewhere { for _ in 0..<3 { for body in Fault.places { body() } } }
  tellRecords()
case "chained":
  // This executor cannot answer whether it is the current one, so the runtime calls its own check, through the shield's
  // hook.
  let done = DispatchSemaphore(value: 0)
  Fault.silent.executor.loop.execute {
    requireSilent(Fault.silent)
    done.signal()
  }
  done.wait()
  tell("status \(Shield.executorChecksUnavailableReason ?? "works")")
  tell("asked \(cs_test_early_asked() > 0) checked \(cs_test_early_checked())")
case "replaced":
  Hooks.clear()
  tell("status \(Shield.executorChecksUnavailableReason ?? "works")")
default:
  tell("status \(Shield.executorChecksUnavailableReason ?? "works")")
}
