// swift-format-ignore-file: NeverForceUnwrap
internal import CShimCasts
internal import CrashShieldGuards

/// Whether the hook sees the program's casts, with the arguments that it expects.
enum Liveness {
  /// The reason why casts are not handled in this process; nil if they are.
  ///
  /// Checked at the first failing cast, or at the first call of `castsUnavailableReason`.
  static let unavailable: String? = {
    // A text of the program's own.
    if let obstacle = unsafe cs_casts_obstacle() { return unsafe String(cString: obstacle) }
    return test(line: 1, reason)
  }()

  /// Whether this thread's casts belong to a test.
  static var isTested: Bool { ImplicitGuards.isProbed }

  /// Runs the body as a test: a failing cast is recorded only for the self-test's check with this line.
  static func test<Result>(line: UInt, _ body: () -> Result) -> Result {
    let goesOn = cs_casts_begin_test()
    defer { _ = cs_casts_end_test(goesOn) }
    return ImplicitGuards.probe(line: line, body)
  }

  @_optimize(none)
  @inline(never)
  private static func reason() -> String? {
    // A cast that succeeds: a failing cast that the hook does not see would end the process.
    guard comesBy() else { return "the hook does not see a forced cast from Any to Int" }
    var places: [UInt] = []
    for _ in 0..<2 {
      guard number(unknown("42")) == 42 else { return "the hook does not convert a text to its number" }
      places.append(ImplicitGuards.probedPC)
    }
    guard unknown(42 as Any) as! String == "42" else { return "the hook does not convert a number to its text" }
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

  /// Not inlined, so that the cast has the same call site each time.
  @_optimize(none)
  @inline(never)
  private static func number(_ value: Any) -> Int { value as! Int }

  private static func metadata(_ type: Any.Type) -> UInt { unsafe unsafeBitCast(type, to: UInt.self) }
}

/// Hides a value from the optimizer.
@_optimize(none)
@inline(never)
func unknown<Value>(_ value: Value) -> Value { value }
