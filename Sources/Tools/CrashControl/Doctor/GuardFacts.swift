import CrashProtocol
internal import CrashShield
public import CrashShieldGuards
import Dispatch
import Synchronization

/// Whether guards still absorb: in this process, which asks them itself, and in others, which tell what they found.
public enum GuardFacts: Sendable {
  /// Asks the guards of CrashShield in this process, and waits for it.
  ///
  /// A guard that traps ends the process, with the words of the Swift runtime. Not from a task: it may need this thread.
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

  /// What came of asking the guards of this process.
  static func finding(of results: [ShieldCheck.Result]) -> Finding {
    var (checks, kinds, failing) = (0, Set<ShieldKind>(), [String]())
    for result in results {
      if case .notAsked = result.verdict { continue }
      checks += 1
      kinds.insert(result.kind)
      if case .fails(let how) = result.verdict { failing.append("\(result.kind.name), \(result.check): \(how)") }
    }
    guard checks > 0 else { return Finding(.warning, subject, "none could be asked in crashctl's own runtime") }
    guard failing.isEmpty else {
      return Finding(
        .warning, subject,
        "\(failing.count) of \(checks) checks fail in crashctl's own runtime: \(failing.joined(separator: "; "))",
        remedy:
          "where a program runs on the same Swift, faults of these kinds may end it: ask there by Shield.selfTest()")
    }
    let rest = ShieldKind.allCases.count - kinds.count
    return Finding(
      .good, subject,
      "\(checks) checks of \(kinds.count) kinds absorb in crashctl's own runtime; of the other \(rest) a program tells")
  }

  /// What a process has reported of its guards; nil: nothing.
  static func finding(of test: ProcessSummary.SelfTest?) -> Finding {
    guard let test else {
      return Finding(
        .note, subject, "the program has not asked whether they still absorb",
        remedy: "Shield.selfTest() at its start would tell")
    }
    let time = LocalTime.text(test.time)
    guard test.checks > 0 else { return Finding(.note, subject, "the program has asked none, at \(time)") }
    guard test.failing.isEmpty else {
      return Finding(
        .warning, subject,
        "\(test.failures) of \(test.checks) checks fail, asked at \(time): \(test.failing.joined(separator: ", "))",
        remedy: "faults of these kinds may end the program; the results of its Shield.selfTest() say how they fail")
    }
    return Finding(.good, subject, "\(test.checks) checks of \(test.asked.count) kinds absorb, asked at \(time)")
  }

  private static let subject = "guards"
}
