import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

/// One of the thirty guards in the table of docs/guards.md: a fault, and its result in each mode.
struct GuardScene: Sendable {
  /// The guard's number in the table.
  var number: Int
  var name: String
  /// A description of the fault.
  var fault: String
  /// The resulting value in the mode `absorb`.
  var absorbed: String
  /// The result in the modes `off` and `observe`; empty if these modes end the process.
  var plain: String
  /// The reason why the fault does not end the process in the modes `off` and `observe`.
  ///
  /// It is nil if these modes end the process.
  var reason: String?
  /// The names of other tests of the guard, for the table.
  ///
  /// The array is empty if there are no other tests.
  var tests: String
  /// Causes the fault without the guard.
  ///
  /// It is nil if the fault cannot occur without the guard.
  var unguarded: (@Sendable () async -> Void)?
  /// Causes the fault with the guard.
  ///
  /// Returns whether the result is the documented value in the current mode.
  var guarded: @Sendable () async -> Bool

  /// Creates a scene from a case of GuardTests.
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
    GuardScene(1, "positions", case: "an element past the end", "nil, default", tests: "`PlacesTests`"),
    GuardScene(2, "ranges", case: "a range that starts inside and ends past the end", "the part that exists"),
    GuardScene(3, "changes", case: "an insertion past the end", "false, unchanged", tests: "`PlacesTests`"),
    GuardScene(4, "counts", case: "a repeated element, with a negative count", "as for a count of 0"),
    GuardScene(5, "duplicate keys", case: "a duplicate key", "the first or the last value of the key"),
    GuardScene(
      6, "nil among elements", case: "nil among the elements", "nil is left out", otherwise: "nil is left out",
      because: "an array of values cannot contain nil, and nothing traps"),
    GuardScene(7, "unwrapping", case: "a value that is nil", "default, nil, throws"),
    GuardScene(8, "casts", case: "a text cast to a number", "converted, nil, default", tests: "`CastTests`"),
    GuardScene(
      9, "null, JSON, decoding", case: "JSON's null as a text", "nil, default; the element is left out",
      tests: "`JSONTests`, `DecodingTests`"),
    GuardScene(
      10, "messages", case: "an unknown message", "nil", otherwise: "nil",
      because: "Swift has no dynamic messages that could be sent", tests: "`ServiceTests.messages`"),
    GuardScene(
      11, "timers", "a timer's target is deallocated", "the timer ends",
      otherwise: "the timer keeps firing, without effect",
      because: "a timer without a target does not end the process",
      tests: "`ServiceTests.timer`, `ServiceModeTests.timer`",
      unguarded: nil, guarded: timerOfGone),
    GuardScene(
      12, "notifications", case: "a notification to a deallocated observer", "the observer is not called",
      otherwise: "the observer is not called", because: "Foundation does not call deallocated observers",
      tests: "`ServiceTests.notifications`"),
    GuardScene(
      13, "observers", case: "an observer added twice", "false", otherwise: "the observer is called twice",
      because: "Linux has no key-value observing that could trap", tests: "`ServiceTests.observers`"),
    GuardScene(14, "arithmetic", case: "an overflowing sum", "the nearest number, default"),
    GuardScene(15, "conversion", case: "a number that is too large", "the nearest number"),
    GuardScene(
      16, "empty ranges, zero strides", case: "a random choice from an empty range", "default, an empty sequence"),
    GuardScene(17, "errors", case: "an unexpected error", "default"),
    GuardScene(
      18, "preconditions", case: "a failed condition", "false, default",
      tests: "`PlacesTests.words`, `PlacesTests.once`"),
    GuardScene(
      19, "references", case: "a deallocated object", "default, nil"),
    GuardScene(
      20, "handles for C", case: "a handle to a deallocated object", "nil", otherwise: "nil",
      because: "the handle is a number, which is never dereferenced", tests: "`HandleTests`"),
    GuardScene(
      21, "continuations", "a continuation is resumed twice", "false; a lost continuation throws",
      tests: "`ServiceTests.continuation`, `ServiceTests.lost`, `ServiceModeTests.twice`",
      unguarded: {
        await withCheckedContinuation { continuation in
          continuation.resume()
          continuation.resume()
        }
      }, guarded: resumedTwice),
    GuardScene(
      22, "waits for the current queue", case: "a wait for the current queue", "the block runs at once",
      tests: "`QueueTests`"),
    GuardScene(23, "groups, sources, semaphores", case: "a dispatch group left once too often", "false, balanced"),
    GuardScene(
      24, "main actor, actors", "work of the main actor on another thread", "runs later, on the main actor; nil",
      tests: "`ServiceTests.mainActor`, `ServiceModeTests.mainActor`, `IsolationTests`",
      unguarded: { await onThread { MainActor.assumeIsolated {} } }, guarded: mainActorElsewhere),
    GuardScene(
      25, "Foundation's ranges", case: "an object past the end of an NSArray", "nil, the part that exists"),
    GuardScene(26, "JSON from objects", case: "a JSON document that is only a text", "throws"),
    GuardScene(
      27, "processes, file handles, pipes", case: "a write to a closed file handle", "nil, false, throws",
      tests: "`ServiceTests.brokenPipes`"),
    GuardScene(
      28, "gate", case: "a second entry at a gate", "nil", otherwise: "nil",
      because: "a gate admits one body at a time in every mode"),
    GuardScene(
      29, "transitions", "a transition during another transition", "the outcome of the transition",
      otherwise: "the outcome of the transition",
      because: "the guard is a queue, which replaces no plain operation",
      tests: "`TransitionTests`, `TransitionPropertyTests`, `ServiceModeTests.transitions`", unguarded: nil,
      guarded: pushedTwice),
    GuardScene(
      30, "raw memory", "bytes past the end of a buffer", "nil, an empty array",
      unguarded: {
        // The read is past the end of the slice, but inside the array's memory. Therefore an optimized program
        // continues with the data that it finds there.
        unsafe [1, 2, 3, 4].withUnsafeBytes { bytes in
          unsafe use(UnsafeRawBufferPointer(rebasing: bytes[..<16]).loadUnaligned(fromByteOffset: 16, as: Int.self))
        }
      }, guarded: readBehind),
  ]
}

private final class Target: Sendable {}

/// Runs the body on a new thread, which belongs to no executor of Swift.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread {
      body()
      continuation.resume()
    }.start()
  }
}

/// Runs a timer whose target was deallocated.
///
/// A second timer on the same queue ticks until the shield has recorded the fault. In the mode `off`, the shield
/// records no fault, and the second timer ticks 20 times.
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
    // Invariant: the array lives during the closure, and the slice is a part of it.
    unsafe UnsafeRawBufferPointer(rebasing: bytes[..<16]).shieldedLoad(fromByteOffset: 16, as: Int.self) == nil
  }
}

/// A value that a lock protects.
private final class Mutexed: @unchecked Sendable {
  private let lock = NSLock()
  private var current: Bool
  init(_ value: Bool) { current = value }
  var value: Bool {
    get { lock.withLock { current } }
    set { lock.withLock { current = newValue } }
  }
}
