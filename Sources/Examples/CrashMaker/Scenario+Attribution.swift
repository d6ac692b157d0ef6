// Crashes whose cause or location a report can easily get wrong, because of earlier runtime messages or code without a
// line number.
internal import CCrashMaker
internal import Glibc
internal import Synchronization

extension Scenario {
  static let warnedBefore = [
    Scenario(
      "warned-before-index", "SIGILL", "faultWarnedBeforeIndex", reason: "Index out of range",
      summary: "read past the end of an array, after a continuation was leaked", asyncCallers: []
    ) {
      await leakContinuation()
      faultWarnedBeforeIndex()
    },
    Scenario(
      "warned-before-fatal-error", "SIGILL", "faultWarnedBeforeFatalError", reason: "the second thing",
      summary: "call fatalError, after a continuation was leaked", asyncCallers: []
    ) {
      await leakContinuation()
      faultWarnedBeforeFatalError()
    },
    Scenario(
      "warned-before-abort", "SIGABRT", "faultWarnedBeforeAbort",
      summary: "call abort(), after a continuation was leaked", asyncCallers: []
    ) {
      await leakContinuation()
      faultWarnedBeforeAbort()
    },
  ]

  static let lineZero = [
    Scenario(
      "line-zero-implicit", "SIGILL", "faultLineZeroImplicit", reason: "Unexpectedly found nil while implicitly",
      summary: "use a nil T!, whose failing branch has line 0", faultLineZeroImplicit
    ).with { $0.optimizedReason = "Unexpectedly found nil while implicitly" },
    Scenario(
      "line-zero-several", "SIGILL", "faultLineZeroSeveral", reason: "one is not allowed: 1",
      summary: "call one of several fatalErrors, which an optimizer merges", { _ = faultLineZeroSeveral(opaque(1)) }),
    Scenario(
      "line-zero-await", "SIGILL", "faultLineZeroAwait", reason: "Index out of range",
      summary: "crash below functions that continue in code without a line",
      asyncCallers: ["faultLineZeroInner", "faultLineZeroOuter"]
    ) { await faultLineZeroOuter(Middleware(), { await faultLineZeroAwait([opaque(1)]) + opaque($0) }) },
  ]
}

/// Leaks a continuation.
///
/// The runtime prints a warning, and the program continues.
private func leakContinuation() async {
  let kept = Kept()
  let waiting = Task {
    await withCheckedContinuation { continuation in kept.continuation.withLock { $0 = continuation } }
  }
  while kept.continuation.withLock({ $0 == nil }) { await Task.yield() }
  kept.continuation.withLock { $0 = nil }
  while !cs_runtime_has_spoken() { await Task.yield() }
  _ = waiting
}

private final class Kept: Sendable {
  let continuation = Mutex<CheckedContinuation<Void, Never>?>(nil)
}

@inline(never) private func faultWarnedBeforeIndex() {
  let stock = [opaque(12)]
  _ = opaque(stock[opaque(3)])  // fault: warned-before-index
}

@inline(never) private func faultWarnedBeforeFatalError() {
  if opaque(0) == 0 {
    fatalError("the second thing")  // fault: warned-before-fatal-error
  }
}

@inline(never) private func faultWarnedBeforeAbort() {
  if opaque(0) == 0 { abort() }  // fault: warned-before-abort
  _ = opaque(1)
}

private final class Screen {
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  var title: String!

  @inline(never) func faultLineZeroImplicit() -> Int {
    title.count * opaque(8)  // fault: line-zero-implicit
  }
}

@inline(never) private func faultLineZeroImplicit() {
  let screen = Screen()
  if opaque(1) == 0 { screen.title = "start" }
  _ = opaque(screen.faultLineZeroImplicit() + 3)
}

@inline(never) private func faultLineZeroSeveral(_ number: Int) -> Int {
  if number < 0 { fatalError("negative: \(number)") }
  if number == 1 { fatalError("one is not allowed: \(number)") }  // fault: line-zero-several
  if number == 2 { fatalError("two is not allowed: \(number)") }
  return opaque(number)
}

/// A middleware, as in a server framework.
///
/// Each middleware receives the next middleware as a closure.
private struct Middleware: Sendable {
  @inline(never) func faultLineZeroInner(
    _ request: Int, next: @Sendable (Int) async throws -> Int
  ) async throws -> Int {
    let answer = try await next(request)
    return answer + opaque(1)
  }
}

@inline(never) private func faultLineZeroOuter(
  _ middleware: Middleware, _ handler: @escaping @Sendable (Int) async throws -> Int
) async {
  do {
    let answer = try await middleware.faultLineZeroInner(opaque(1)) { try await handler($0) + 1 }
    _ = opaque(answer)
  } catch {
    _ = opaque(0)
  }
}

@inline(never) private func faultLineZeroAwait(_ prices: [Int]) async -> Int {
  await Task.yield()
  return prices[opaque(5)]  // fault: line-zero-await
}
