import CrashShield
import Dispatch
import Glibc

// static-host SHIELD FAULT: starts the shield unless SHIELD is "without", then causes FAULT on a Dispatch thread.

@inline(never) func trapOnThread(_ numbers: [Int]) -> Int { numbers[numbers.count] }

@inline(never) func overflowOnThread(_ depth: Int) -> Int {
  // Prevents a tail call, so that this frame stays on the stack.
  withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { $0.count + overflowOnThread(depth + 1) }
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(2) }
if arguments[1] != "without" {
  do throws(Shield.StartError) {
    try Shield.startOrThrow()
  } catch {
    print("not started: \(error)")
    exit(3)
  }
}
let done = DispatchSemaphore(value: 0)
DispatchQueue.global().async {
  switch arguments[2] {
  case "trap": print(trapOnThread([1]))
  case "overflow": print(overflowOnThread(0))
  default: print("a thread ran")
  }
  done.signal()
}
done.wait()
exit(7)
