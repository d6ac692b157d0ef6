public import CrashShield
import CShim

extension Shield {
  /// Has guards of every kind meet a fault, and says whether each still gives its documented value and records it.
  ///
  /// For the start of a server, or a test after an update of Swift: that a guard absorbs depends on what the standard library
  /// and the runtime do. The modes do not matter, `off` included, and are not changed. The faults are no incidents: neither
  /// `guardIncidents` nor `onIncident` nor crashd is told of them. Nothing is printed. Some hundred microseconds, and some
  /// milliseconds with `ShieldCheck.foundation`, for a timer has to tick; any thread, any actor.
  ///
  /// What came of it is left where crashd can read it, if the shield was started before: the kinds that were asked, those
  /// that fail, how many checks, and when, in place of what an earlier call left (of two that end at the same moment, one's).
  /// `crashctl doctor PID` shows it. No texts of checks are in it.
  ///
  /// ```swift
  /// for result in await Shield.selfTest(including: ShieldCheck.foundation) {
  ///   if case .fails(let how) = result.verdict { log("guard of \(result.kind.name), \(result.check): \(how)") }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - others: Checks besides this module's own.
  ///   - isolation: The caller's; what belongs to the main actor is asked only there.
  /// - Returns: A result for each check, and one for each kind that has none, with the reason.
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

  /// Where crashd can read it.
  private static func tell(_ results: [ShieldCheck.Result]) {
    var (asked, failing) = (UInt64(0), UInt64(0))
    var (checks, failures) = (UInt32(0), UInt32(0))
    for result in results {
      if case .notAsked = result.verdict { continue }
      // The ring has room for 64 kinds, as what crashd says of modes.
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

  /// For who is on it.
  private static func onMainActor(_ body: @MainActor @Sendable (UInt) -> Bool, _ line: UInt) -> Bool {
    MainActor.assumeIsolated { body(line) }
  }

  private static func reason(against kind: ShieldKind) -> String {
    // A write that is to fail would end the process where that was not called.
    if kind == .pipe { return "it needs a setting of the process: Shield.ignoreBrokenPipes()" }
    return "its guard is CrashShieldFoundation's: include ShieldCheck.foundation"
  }
}
