public import CrashShield
internal import CShim
internal import CShimQuarantine

extension Shield {
  /// Sets the mode of implicit protections for a kind.
  ///
  /// An implicit protection handles faults of plain operations, without a guard at the call site. The modules
  /// `CrashShieldImplicit`, `CrashShieldCasts` and `CrashShieldExecutorChecks` contain the implicit protections. Guards
  /// at call sites have their own modes, which `setMode` sets.
  ///
  /// Until this call, the mode comes from `CRASHSHIELD_IMPLICIT`, such as `absorb` or `observe,arithmetic=off`. If the
  /// variable is not set, the mode is `observe`: the shield records the fault, and the process ends as it would without
  /// the shield. An operator's override (`crashctl guards set --implicit`) takes precedence; when the override is
  /// removed, this mode applies again. May be called from any thread; the call stores one atomic byte.
  public static func setImplicitMode(_ mode: ShieldMode, for kind: ShieldKind) {
    _ = Guards.implicitEnvironment
    cs_guard_set_implicit_mode(UInt32(kind.rawValue), mode.code)
  }

  /// Sets the mode of implicit protections for every kind.
  public static func setImplicitMode(_ mode: ShieldMode) {
    for kind in ShieldKind.allCases { setImplicitMode(mode, for: kind) }
  }

  /// Returns the effective mode of implicit protections for a kind: an operator's override, else the program's mode.
  public static func implicitMode(for kind: ShieldKind) -> ShieldMode {
    _ = Guards.implicitEnvironment
    return ShieldMode(cs_guard_implicit_mode_of(UInt32(kind.rawValue)))
  }
}

/// The interface for protections that need no guard at the call site.
package enum ImplicitGuards {
  /// The call site of a fault.
  package enum Place: Sendable {
    /// The return address in the faulting function.
    case pc(UInt)
    /// A number that identifies the call site; the address of the call site is one of the recorded frames.
    case number(UInt)
    case site(ShieldSite)
  }

  /// Handles a fault as `Shield.handleFault` does, in the mode that `Shield.setImplicitMode` sets.
  ///
  /// If `hasValue` is false, there is no fallback value: the fault is recorded but not absorbed. `hasValue` is
  /// evaluated only in the mode `absorb`. `unavailable` returns the reason why this protection is off in this process,
  /// or nil. `unavailable` is not evaluated while `probe` tests the protection.
  package static func handleFault(
    _ kind: ShieldKind, at place: Place, hasValue: @autoclosure () -> Bool = true, unless unavailable: () -> String?,
    _ reason: () -> String
  ) -> Bool {
    let line = cs_guard_probe_line()
    if line != 0 {
      switch place {
      case .pc(let number), .number(let number): cs_guard_set_probe_pc(UInt64(number))
      case .site: break
      }
      let site = ShieldSite(fileID: "", line: UInt(line))
      if SelfTest.hasMade(site) { SelfTest.meet(kind, site, reason) }
      return true
    }
    let wanted = Shield.implicitMode(for: kind)
    if wanted == .off || unavailable() != nil { return false }
    let mode = wanted != .absorb || hasValue() ? wanted : .observe
    switch place {
    case .pc(let pc): Guards.record(kind, mode, nil, pc: pc, from: pc, reason)
    case .number(let number): Guards.record(kind, mode, nil, pc: number, reason)
    case .site(let site): Guards.record(kind, mode, site, reason)
    }
    return mode == .absorb
  }

  /// Whether a fault of the kind would be absorbed.
  ///
  /// Used for a fault that is a consequence of an earlier fault, and therefore is not recorded.
  package static func goesOn(_ kind: ShieldKind) -> Bool {
    cs_guard_probe_line() != 0 || Shield.implicitMode(for: kind) == .absorb
  }

  /// Runs the body as a test: its faults are absorbed, and recorded only for the self-test check that uses this line
  /// number.
  package static func probe<Result>(line: UInt = 1, _ body: () throws -> Result) rethrows -> Result {
    // `probe` affects only this thread, because the line is thread-local.
    let outer = cs_guard_probe_line()
    cs_guard_set_probe_line(UInt64(line))
    defer { cs_guard_set_probe_line(outer) }
    return try body()
  }

  /// Whether this thread runs the body of `probe`.
  package static var isProbed: Bool { cs_guard_probe_line() != 0 }

  /// The call site of the last fault in the body of `probe` on this thread.
  package static var probedPC: UInt { UInt(cs_guard_probe_pc()) }
}
