public import CrashShield
internal import CShimGuards
internal import CShimQuarantine

extension Shield {
  /// Says what protections that nobody asked for at the place do about a fault of a kind: `CrashShieldImplicit`, `CrashShieldCasts`,
  /// `CrashShieldExecutorChecks`.
  ///
  /// Until then it is what `CRASHSHIELD_IMPLICIT` says, such as `absorb` or `observe,arithmetic=off`; else `observe`: the fault is
  /// recorded, and the process ends as it would have. An operator's word (`crashctl guards set --implicit`) is stronger; this
  /// one holds again when that is taken back. Guards at call sites have modes of their own: `setMode`. Any thread; one
  /// atomic byte.
  public static func setImplicitMode(_ mode: ShieldMode, for kind: ShieldKind) {
    _ = Guards.implicitEnvironment
    cs_guard_set_implicit_mode(UInt32(kind.rawValue), mode.code)
  }

  /// The same for faults of every kind.
  public static func setImplicitMode(_ mode: ShieldMode) {
    for kind in ShieldKind.allCases { setImplicitMode(mode, for: kind) }
  }

  /// What protections that nobody asked for at the place do about a fault of a kind, by whoever says so.
  public static func implicitMode(for kind: ShieldKind) -> ShieldMode {
    _ = Guards.implicitEnvironment
    return ShieldMode(cs_guard_implicit_mode_of(UInt32(kind.rawValue)))
  }
}

/// What a protection asks that stands at no call site.
package enum ImplicitGuards {
  /// Where a fault was met.
  package enum Place: Sendable {
    /// Where the function goes on that met it.
    case pc(UInt)
    /// A number for the place, which is on the stack somewhere.
    case number(UInt)
    case site(ShieldSite)
  }

  /// Handles a fault as `Shield.handleFault` does, by the modes that `Shield.setImplicitMode` sets.
  ///
  /// Where `hasValue` is false there is no value to go on with, and the fault is at most observed; it is asked for with the mode
  /// `absorb` only. `unavailable` says why this protection is off in this process, nil that it is not; it is not asked within a
  /// test of it.
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

  /// Whether a fault of the kind would be absorbed; for one that is not to be recorded, because it comes of another.
  package static func goesOn(_ kind: ShieldKind) -> Bool {
    cs_guard_probe_line() != 0 || Shield.implicitMode(for: kind) == .absorb
  }

  /// Runs the body as a test: its faults are absorbed and recorded nowhere, but for a self-test's check whose line this is.
  package static func probe<Result>(line: UInt = 1, _ body: () throws -> Result) rethrows -> Result {
    // The body does not leave the thread.
    let outer = cs_guard_probe_line()
    cs_guard_set_probe_line(UInt64(line))
    defer { cs_guard_set_probe_line(outer) }
    return try body()
  }

  /// Whether this thread is in such a test.
  package static var isProbed: Bool { cs_guard_probe_line() != 0 }

  /// Where the last fault of this thread's test was met.
  package static var probedPC: UInt { UInt(cs_guard_probe_pc()) }
}
