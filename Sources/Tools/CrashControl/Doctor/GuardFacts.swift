import CrashProtocol
internal import CrashShield
public import CrashShieldGuards
import Dispatch
import Synchronization

/// Checks whether guards absorb faults, that is, return a fallback value instead of trapping.
///
/// The doctor runs a self-test in its own process. For other processes, the doctor uses the self-test results that
/// crashd has received from them.
public enum GuardFacts: Sendable {
  /// Tests the guards of CrashShield in this process, and waits for the result.
  ///
  /// If a guard traps, this process ends with the Swift runtime error message. Precondition: the caller is not a task,
  /// because this function blocks the thread until the asynchronous self-test has ended.
  public static func ownSelfTest() -> [ShieldCheck.Result] {
    let (outcome, done) = (Outcome(), DispatchSemaphore(value: 0))
    Task.detached {
      let results = await Shield.selfTest()
      outcome.results.withLock { $0 = results }
      done.signal()
    }
    done.wait()
    return outcome.results.withLock { $0 }
  }

  private final class Outcome: Sendable {
    let results = Mutex<[ShieldCheck.Result]>([])
  }

  /// Returns the finding about the guard self-test in this process.
  static func finding(of results: [ShieldCheck.Result]) -> Finding {
    var (checks, kinds, failing) = (0, Set<ShieldKind>(), [String]())
    for result in results {
      if case .notAsked = result.verdict { continue }
      checks += 1
      kinds.insert(result.kind)
      if case .fails(let how) = result.verdict { failing.append("\(result.kind.name), \(result.check): \(how)") }
    }
    guard checks > 0 else { return Finding(.warning, subject, "no check could run in crashctl") }
    guard failing.isEmpty else {
      return Finding(
        .warning, subject,
        "\(failing.count) of \(checks) checks fail in crashctl: \(failing.joined(separator: "; "))",
        remedy:
          "faults of these kinds may end a program on the same Swift version: call Shield.selfTest() in it")
    }
    let rest = ShieldKind.allCases.count - kinds.count
    return Finding(
      .good, subject,
      "self-test passed (\(checks) checks of \(kinds.count) kinds); the other \(rest) kinds need a self-test in a program"
    )
  }

  /// Returns the finding about the self-test result that a process published.
  static func finding(of test: ProcessSummary.SelfTest?, clock: Clock) -> Finding {
    guard let test else {
      return Finding(
        .note, subject, "the program has not run a self-test",
        remedy: "call Shield.selfTest() at its start")
    }
    let time = clock.text(test.time)
    guard test.checks > 0 else { return Finding(.note, subject, "the program's self-test of \(time) had no checks") }
    guard test.failing.isEmpty else {
      return Finding(
        .warning, subject,
        "\(test.failures) of \(test.checks) checks failed at \(time): \(test.failing.joined(separator: ", "))",
        remedy: "faults of these kinds may end the program; see the results of Shield.selfTest() for the reasons")
    }
    return Finding(.good, subject, "self-test passed at \(time) (\(test.checks) checks of \(test.asked.count) kinds)")
  }

  private static let subject = "guards"
}
