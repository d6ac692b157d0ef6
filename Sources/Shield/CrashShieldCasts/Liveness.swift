// swift-format-ignore-file: NeverForceUnwrap
internal import CShimCasts
internal import CrashShieldGuards

/// Checks whether this module's hook receives the program's casts before the Swift runtime does, with the expected
/// arguments.
enum Liveness {
  /// The reason why failing casts are not handled in this process; nil if they are handled.
  ///
  /// The check runs at the first failing cast, or at the first call of `castsUnavailableReason`.
  static let unavailable: String? = {
    // Invariant: the C string is a constant.
    if let obstacle = unsafe cs_casts_obstacle() { return unsafe String(cString: obstacle) }
    return test(line: 1, reason)
  }()

  /// Whether this thread is running a test cast of `Liveness` instead of a cast of the program.
  static var isTested: Bool { ImplicitGuards.isProbed }

  /// Runs the body as a check.
  ///
  /// A failing cast is recorded only for the self-test check with this line number, not as an incident of the program.
  static func test<Result>(line: UInt, _ body: () -> Result) -> Result {
    let goesOn = cs_casts_begin_test()
    defer { _ = cs_casts_end_test(goesOn) }
    return ImplicitGuards.probe(line: line, body)
  }

  @_optimize(none)
  @inline(never)
  private static func reason() -> String? {
    // Use a cast that succeeds: a failing cast would end the process if the hook did not receive it.
    guard comesBy() else { return "the hook does not receive a forced cast from Any to Int" }
    var places: [UInt] = []
    for _ in 0..<2 {
      guard number(unknown("42")) == 42 else { return "the hook does not convert a string to a number" }
      places.append(ImplicitGuards.probedPC)
    }
    guard unknown(42 as Any) as! String == "42" else { return "the hook does not convert a number to a string" }
    guard places.first == places.last, places.first != ImplicitGuards.probedPC else {
      return "the call site of a failing cast is unknown"
    }
    return nil
  }

  @_optimize(none)
  @inline(never)
  private static func comesBy() -> Bool {
    let goesOn = cs_casts_begin_test()
    let isRight = unknown(7 as Any) as! Int == 7
    let seen = cs_casts_end_test(goesOn)
    return isRight && seen.flags & 1 == 1 && seen.source_type == metadata(Any.self)
      && seen.target_type == metadata(Int.self)
  }

  /// Not inlined: the cast must have the same call site at each call.
  @_optimize(none)
  @inline(never)
  private static func number(_ value: Any) -> Int { value as! Int }

  private static func metadata(_ type: Any.Type) -> UInt { unsafe unsafeBitCast(type, to: UInt.self) }
}

/// Hides a value from the optimizer.
@_optimize(none)
@inline(never)
func unknown<Value>(_ value: Value) -> Value { value }
