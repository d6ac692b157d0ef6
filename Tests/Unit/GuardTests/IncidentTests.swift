import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import Synchronization
import Testing

/// Tests the call site and the task of an incident.
@Suite
struct IncidentTests {
  @Test("an incident has the number of its task")
  func task() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let reader = Reader()
      await reader.meetFault()
      let number = reader.scribe.number
      guard let number, number > 0, Shield.guardIncidents.map(\.task) == [number] else {
        complain("\(Shield.guardIncidents) in \(number.map { "\($0)" } ?? "no task")")
      }
      Glibc.exit(right)
    }
  }

  @Test("an incident on a thread without a task has no task")
  func thread() async {
    await #expect(processExitsWith: .exitCode(right)) {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          _ = [Int]()[shielded: 0]
          continuation.resume()
        }
      }
      guard Shield.guardIncidents.count == 1, Shield.guardIncidents[0].task == nil else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }
}

/// An actor whose executor logs the jobs that it runs.
private actor Reader {
  nonisolated let scribe = Scribe()
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe scribe.asUnownedSerialExecutor() }

  func meetFault() { _ = [Int]()[shielded: 0] }
}

private final class Scribe: SerialExecutor {
  private let last = Mutex<String>("")

  /// The number of the last job, which the test parses from the runtime's description "ExecutorJob(id: 4)".
  var number: UInt64? {
    last.withLock { UInt64($0.filter(\.isNumber)) }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let text = job.description
    last.withLock { $0 = text }
    // Invariant: the executor exists as long as its actor, which the job retains.
    unsafe job.runSynchronously(on: asUnownedSerialExecutor())
  }
}
