public import CrashShield
import CShim

extension Shield {
  /// Causes a fault for guards of every kind, and checks that each returns its documented value and records the fault.
  ///
  /// For the start of a server, or a test after an update of Swift: guards depend on the behavior of the standard
  /// library and the runtime. The modes do not matter, `off` included, and do not change. The faults are no incidents:
  /// they do not appear in `guardIncidents`, `onIncident` or crashd. Nothing is printed. Takes some hundred
  /// microseconds, and some milliseconds with `ShieldCheck.foundation`, for a timer has to tick; any thread, any actor.
  ///
  /// If the shield was started before, the result is published to crashd: the tested kinds, the failing ones, the
  /// number of checks, and the time. It replaces the result of an earlier call; of two calls that end at the same
  /// moment, one wins. `crashctl doctor PID` shows it. It contains no texts of checks.
  ///
  /// ```swift
  /// for result in await Shield.selfTest(including: ShieldCheck.foundation) {
  ///   if case .fails(let how) = result.verdict { log("guard of \(result.kind.name), \(result.check): \(how)") }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - others: Checks besides those of this module.
  ///   - isolation: The caller's isolation; checks of the main actor run only there.
  /// - Returns: A result for each check, and one for each kind without a check, with the reason.
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
      // The ring has room for 64 kinds, as crashd's mode messages have.
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
    guard let line = SelfTest.begin() else { return .notAsked("too many checks go on at once") }
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
          return .notAsked("belongs to the main actor: ask from there")
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

  /// Runs a check on the main actor, which the caller is on.
  private static func onMainActor(_ body: @MainActor @Sendable (UInt) -> Bool, _ line: UInt) -> Bool {
    MainActor.assumeIsolated { body(line) }
  }

  private static func reason(against kind: ShieldKind) -> String {
    // Unless SIGPIPE is ignored, the failing write would end the process.
    if kind == .pipe { return "it needs a setting of the process: Shield.ignoreBrokenPipes()" }
    return "its guard is CrashShieldFoundation's: include ShieldCheck.foundation"
  }
}
