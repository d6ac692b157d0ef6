public import CrashShield
import CShim

extension Shield {
  /// Causes a fault for guards of every kind, and checks that each returns its documented value and records the fault.
  ///
  /// Call this function when a server starts, or in a test after an update of Swift. Guards depend on the behavior of
  /// the standard library and the runtime. The checks work in each guard mode, also in `off`, and do not change the
  /// mode. The faults are not incidents: they do not appear in `guardIncidents`, `onIncident` or crashd. The function
  /// prints nothing. The checks take some hundred microseconds. With `ShieldCheck.foundation`, the checks take some
  /// milliseconds, because one of them waits for a timer. May be called from any thread and any actor.
  ///
  /// If the shield is started, crashd receives the result: the tested kinds, the failing kinds, the number of checks,
  /// and the time. `crashctl doctor PID` shows this result, which does not contain the names of checks. The result
  /// replaces the result of an earlier call. If two calls end at the same time, crashd gets the result of one of them.
  ///
  /// ```swift
  /// for result in await Shield.selfTest(including: ShieldCheck.foundation) {
  ///   if case .fails(let how) = result.verdict { log("guard of \(result.kind.name), \(result.check): \(how)") }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - others: Checks that run in addition to the checks of this module.
  ///   - isolation: The actor isolation of the caller. Checks of the main actor run only if the caller is on the main
  ///     actor.
  /// - Returns: A result for each check; for each kind without a check, a result with the reason why it has no check.
  public static func selfTest(
    including others: [ShieldCheck] = [], isolation: isolated (any Actor)? = #isolation
  ) async -> [ShieldCheck.Result] {
    let checks = ShieldCheck.own + others
    var results: [ShieldCheck.Result] = []
    for check in checks {
      results.append(ShieldCheck.Result(kind: check.kind, check: check.name, verdict: await verdict(of: check)))
    }
    let asked = Set(checks.map(\.kind))
    for kind in ShieldKind.allCases where !asked.contains(kind) {
      results.append(ShieldCheck.Result(kind: kind, check: "", verdict: .notAsked(reason(against: kind))))
    }
    tell(results)
    return results
  }

  /// Publishes the results to crashd.
  private static func tell(_ results: [ShieldCheck.Result]) {
    var (asked, failing) = (UInt64(0), UInt64(0))
    var (checks, failures) = (UInt32(0), UInt32(0))
    for result in results {
      if case .notAsked = result.verdict { continue }
      // Set the bit of the kind: the ring has one bit for each of 64 kinds.
      let bit = UInt64(1) << UInt64(result.kind.rawValue)
      asked |= bit
      checks &+= 1
      if case .fails = result.verdict {
        failing |= bit
        failures &+= 1
      }
    }
    cs_shim_self_test(asked, failing, checks, failures)
  }

  private static func verdict(
    of check: ShieldCheck, isolation: isolated (any Actor)? = #isolation
  ) async -> ShieldCheck.Verdict {
    guard let line = SelfTest.begin() else { return .notAsked("too many checks are running at the same time") }
    let isRight: Bool
    do {
      switch check.body {
      case .plain(let body):
        isRight = try body(line)
      case .suspending(let body):
        isRight = try await body(line)
      case .onMainActor(let body):
        guard isolation === MainActor.shared else {
          _ = SelfTest.end(line)
          return .notAsked("needs the main actor: call selfTest on the main actor")
        }
        isRight = onMainActor(body, line)
      }
    } catch {
      _ = SelfTest.end(line)
      return .fails("\(error)")
    }
    let met = SelfTest.end(line)
    if !isRight { return .fails("not the documented value") }
    if met == [check.kind] { return .absorbs }
    return .fails("recorded as \(met.isEmpty ? "nothing" : met.map(\.name).joined(separator: ", "))")
  }

  /// Runs a check on the main actor.
  ///
  /// Precondition: the caller is on the main actor.
  private static func onMainActor(_ body: @MainActor @Sendable (UInt) -> Bool, _ line: UInt) -> Bool {
    MainActor.assumeIsolated { body(line) }
  }

  private static func reason(against kind: ShieldKind) -> String {
    // The kind `pipe` has no check, because the failing write would end the process if SIGPIPE is not ignored.
    if kind == .pipe { return "it needs a setting of the process: Shield.ignoreBrokenPipes()" }
    return "its guard is in CrashShieldFoundation: include ShieldCheck.foundation"
  }
}
