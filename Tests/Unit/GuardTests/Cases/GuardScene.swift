import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

/// One of the thirty guards in the table of docs/guards.md: a fault, and its result in each mode.
struct GuardScene: Sendable {
  /// The guard's number in the project's plan.
  var number: Int
  var name: String
  /// The fault, as text.
  var fault: String
  /// The program's value then: in `absorb`, and where it goes on without the guard.
  var absorbed: String
  var plain: String
  /// Why `off` and `observe` do not end the process; nil: they do.
  var reason: String?
  /// Where it is tested besides; empty: nowhere.
  var tests: String
  /// Runs the fault without the guard; nil if the plain operation has no fault.
  var unguarded: (@Sendable () async -> Void)?
  /// Runs the fault under the guard; returns whether its result is the documented one in the current mode.
  var guarded: @Sendable () async -> Bool

  /// A guard that a case of GuardTests shows.
  init(
    _ number: Int, _ name: String, case title: String, _ absorbed: String, otherwise plain: String = "",
    because reason: String? = nil, tests: String = ""
  ) {
    guard let shown = GuardCase.all.first(where: { $0.name == title }) else { complain("no case \(title)") }
    self.init(
      number, name, title, absorbed, otherwise: plain, because: reason, tests: tests,
      unguarded: shown.signal == nil ? nil : { @Sendable in shown.plain() }, guarded: { @Sendable in shown.guarded() })
  }

  init(
    _ number: Int, _ name: String, _ fault: String, _ absorbed: String, otherwise plain: String = "",
    because reason: String? = nil, tests: String = "", unguarded: (@Sendable () async -> Void)?,
    guarded: @escaping @Sendable () async -> Bool
  ) {
    self.number = number
    self.name = name
    self.fault = fault
    self.absorbed = absorbed
    self.plain = plain
    self.reason = reason
    self.tests = tests
    self.unguarded = unguarded
    self.guarded = guarded
  }
}

extension GuardScene {
  static let all: [GuardScene] = [
    GuardScene(1, "positions", case: "an element behind the end", "nil, default", tests: "`PlacesTests`"),
    GuardScene(2, "ranges", case: "a range that begins inside", "the part that exists"),
    GuardScene(3, "changes", case: "an insertion behind the end", "false, unchanged", tests: "`PlacesTests`"),
    GuardScene(4, "counts", case: "so many of one, below zero", "as for 0"),
    GuardScene(5, "duplicate keys", case: "a key given twice", "the first, or the last"),
    GuardScene(
      6, "nil among elements", case: "nil among the elements", "left out", otherwise: "left out",
      because: "a list cannot contain nil, and nothing traps"),
    GuardScene(7, "unwrapping", case: "a value that is nil", "default, nil, throws"),
    GuardScene(8, "casts", case: "a text where a number is wanted", "converted, nil, default", tests: "`CastTests`"),
    GuardScene(
      9, "null, JSON, decoding", case: "JSON's null for a text", "nil, default; left out",
      tests: "`JSONTests`, `DecodingTests`"),
    GuardScene(
      10, "messages", case: "a message that is not known", "nil", otherwise: "nil",
      because: "Swift has no plain operation that sends a message", tests: "`ServiceTests.messages`"),
    GuardScene(
      11, "timers", "the target of a timer has gone", "ends", otherwise: "ticks on, does nothing",
      because: "a timer without a target does not trap", tests: "`ServiceTests.timer`, `ServiceModeTests.timer`",
      unguarded: nil, guarded: timerOfGone),
    GuardScene(
      12, "notifications", case: "a notification whose observer has gone", "no call",
      otherwise: "no call", because: "Foundation does not call a deallocated observer",
      tests: "`ServiceTests.notifications`"),
    GuardScene(
      13, "observers", case: "an observer added twice", "false", otherwise: "called twice",
      because: "Linux has no plain key-value observing", tests: "`ServiceTests.observers`"),
    GuardScene(14, "arithmetic", case: "a sum too large", "the nearest, default"),
    GuardScene(15, "conversion", case: "a number that is too large", "the nearest"),
    GuardScene(16, "empty ranges, zero strides", case: "a choice from nothing", "default, nothing"),
    GuardScene(17, "errors", case: "an error where none was expected", "default"),
    GuardScene(
      18, "preconditions", case: "a condition that does not hold", "false, default",
      tests: "`PlacesTests.words`, `PlacesTests.once`"),
    GuardScene(
      19, "references", case: "a deallocated object", "default, nil"),
    GuardScene(
      20, "handles for C", case: "a handle whose object has gone", "nil", otherwise: "nil",
      because: "the handle is a number and no address", tests: "`HandleTests`"),
    GuardScene(
      21, "continuations", "a continuation is resumed twice", "false; a lost one throws",
      tests: "`ServiceTests.continuation`, `ServiceTests.lost`, `ServiceModeTests.twice`",
      unguarded: {
        await withCheckedContinuation { continuation in
          continuation.resume()
          continuation.resume()
        }
      }, guarded: resumedTwice),
    GuardScene(22, "current queue", case: "a wait for one's own queue", "runs at once", tests: "`QueueTests`"),
    GuardScene(23, "groups, sources, semaphores", case: "a group left once too often", "false, balanced"),
    GuardScene(
      24, "main actor, actors", "work of the main actor on another thread", "runs there, later; nil",
      tests: "`ServiceTests.mainActor`, `ServiceModeTests.mainActor`, `IsolationTests`",
      unguarded: { await onThread { MainActor.assumeIsolated {} } }, guarded: mainActorElsewhere),
    GuardScene(
      25, "Foundation's ranges", case: "an object of an NSArray that has none there", "nil, the part that exists"),
    GuardScene(26, "JSON from objects", case: "JSON of a text alone", "throws"),
    GuardScene(
      27, "processes, file handles, pipes", case: "a write to a handle that was closed", "nil, false, throws",
      tests: "`ServiceTests.brokenPipes`"),
    GuardScene(
      28, "gate", case: "a second one at the gate", "nil", otherwise: "nil",
      because: "a gate has no plain operation"),
    GuardScene(
      29, "transitions", "a change of screen during another", "the outcome", otherwise: "the outcome",
      because: "the queue has no plain operation",
      tests: "`TransitionTests`, `TransitionPropertyTests`, `ServiceModeTests.transitions`", unguarded: nil,
      guarded: pushedTwice),
    GuardScene(
      30, "raw memory", "bytes behind the end of a buffer", "nil, none",
      unguarded: {
        // Within the array: in an optimized program it goes on, and reads what lies there.
        unsafe [1, 2, 3, 4].withUnsafeBytes { bytes in
          unsafe use(UnsafeRawBufferPointer(rebasing: bytes[..<16]).loadUnaligned(fromByteOffset: 16, as: Int.self))
        }
      }, guarded: readBehind),
  ]
}

private final class Target: Sendable {}

/// Runs the body on a new thread, outside of Swift's executors.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread {
      body()
      continuation.resume()
    }.start()
  }
}

/// With a neighbour on the timer's queue, which ticks beside it until the fault is recorded; with `off`, many times.
private func timerOfGone() async -> Bool {
  let queue = DispatchQueue(label: "ticks")
  let timer = ShieldedTimer(every: .milliseconds(1), target: Target(), on: queue) { _ in }
  let (neighbour, ticks) = (Target(), AsyncStream<Void>.makeStream())
  let other = ShieldedTimer(every: .milliseconds(5), target: neighbour, on: queue) { _ in ticks.continuation.yield() }
  var count = 0
  for await _ in ticks.stream {
    count += 1
    if Shield.mode(for: .timer) == .off ? count == 20 : !Shield.guardIncidents.isEmpty { break }
  }
  return withExtendedLifetime(neighbour) {
    queue.sync {
      other.cancel()
      return timer.isCancelled == (Shield.mode(for: .timer) == .absorb)
    }
  }
}

private func resumedTwice() async -> Bool {
  let isSecond = Mutexed(true)
  let value = try? await withShieldedContinuation(of: Int.self) { continuation in
    continuation.resume(returning: 1)
    isSecond.value = continuation.resume(returning: 2)
  }
  return value == 1 && !isSecond.value
}

private func mainActorElsewhere() async -> Bool {
  let (runs, run) = AsyncStream<Void>.makeStream()
  await onThread { MainActor.shieldedRun { run.yield() } }
  for await _ in runs { return true }
  return false
}

private func pushedTwice() async -> Bool {
  await MainActor.run {
    let navigation = Navigation(.drop)
    return navigation.queue.push(Screen("a")) == .started && navigation.queue.push(Screen("b")) == .dropped(.busy)
  }
}

private func readBehind() -> Bool {
  unsafe [1, 2, 3, 4].withUnsafeBytes { bytes in
    // The array lives as long as the closure, and the part is one of it.
    unsafe UnsafeRawBufferPointer(rebasing: bytes[..<16]).shieldedLoad(fromByteOffset: 16, as: Int.self) == nil
  }
}

/// A value that is set on one thread at a time.
private final class Mutexed: @unchecked Sendable {
  private let lock = NSLock()
  private var current: Bool
  init(_ value: Bool) { current = value }
  var value: Bool {
    get { lock.withLock { current } }
    set { lock.withLock { current = newValue } }
  }
}
