// swift-format-ignore-file: NeverForceUnwrap
internal import CShimCasts
internal import CrashShieldGuards

/// Whether the program's casts come by, and what came by is what we take it for.
enum Liveness {
  /// Why nothing is done about casts in this process; nil: it is.
  ///
  /// Found out at the first cast that fails, or when somebody asks.
  static let unavailable: String? = {
    // A text of the program's own.
    if let obstacle = unsafe cs_casts_obstacle() { return unsafe String(cString: obstacle) }
    return test(line: 1, reason)
  }()

  /// Whether this thread's casts are those of a test.
  static var isTested: Bool { ImplicitGuards.isProbed }

  /// Runs the body as a test: a cast that fails is recorded nowhere, but for a self-test's check whose line this is.
  static func test<Result>(line: UInt, _ body: () -> Result) -> Result {
    let goesOn = cs_casts_begin_test()
    defer { _ = cs_casts_end_test(goesOn) }
    return ImplicitGuards.probe(line: line, body)
  }

  @_optimize(none)
  @inline(never)
  private static func reason() -> String? {
    // One that succeeds: a cast that fails, and does not come by, would end the process.
    guard comesBy() else { return "a forced cast does not come by, or not as one from Any to Int" }
    var places: [UInt] = []
    for _ in 0..<2 {
      guard number(unknown("42")) == 42 else { return "a text of a number is not taken for the number" }
      places.append(ImplicitGuards.probedPC)
    }
    guard unknown(42 as Any) as! String == "42" else { return "a number is not taken for its text" }
    guard places.first == places.last, places.first != ImplicitGuards.probedPC else {
      return "where a cast fails cannot be told"
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

  /// A function of its own: the place is the same each time.
  @_optimize(none)
  @inline(never)
  private static func number(_ value: Any) -> Int { value as! Int }

  private static func metadata(_ type: Any.Type) -> UInt { unsafe unsafeBitCast(type, to: UInt.self) }
}

/// A value that the optimizer does not know.
@_optimize(none)
@inline(never)
func unknown<Value>(_ value: Value) -> Value { value }
