internal import CrashShield
public import CrashShieldGuards
internal import Foundation

extension ShieldCheck {
  /// The checks of this module's guards, for `Shield.selfTest`.
  public static let foundation: [ShieldCheck] = [
    ShieldCheck("a timer without an interval", .timer) { line in
      let target = Target()
      let queue = DispatchQueue(label: "self-test")
      let timer = ShieldedTimer(every: .zero, target: target, on: queue, line: line) { _ in }
      timer.cancel()
      // Keep the target alive: if a running tick found the target deallocated, it would record a second fault.
      return withExtendedLifetime(target) { queue.sync { timer.isCancelled } }
    },
    ShieldCheck("a timer whose target was deallocated", .timer, .suspending(ticking)),
    ShieldCheck("code of the main actor on another thread", .isolation, .suspending(elsewhere)),
    ShieldCheck("a notification whose observer was deallocated", .notification) { line in
      let center = NotificationCenter()
      let name = Notification.Name("self-test")
      let observation = center.shieldedAddObserver(unknown(Target()), forName: name, line: line) { _, _ in }
      // The first notification ends the observation.
      center.post(name: name, object: nil)
      center.post(name: name, object: nil)
      return withExtendedLifetime(observation) { true }
    },
    ShieldCheck("a synchronous wait for the current queue", .queue) { line in
      let queue = ShieldedQueue(label: "self-test")
      return queue.sync { queue.sync(line: line) { 5 } } == 5
    },
    ShieldCheck("a group left more often than it was entered", .group) { !ShieldedGroup().leave(line: $0) },
    ShieldCheck("a source resumed twice", .source) { line in
      let source = ShieldedSource(DispatchSource.makeUserDataAddSource())
      return source.resume(line: line) && !source.resume(line: line)
    },
    ShieldCheck("a source that is released before it was resumed", .source) { line in
      _ = ShieldedSource(DispatchSource.makeUserDataAddSource(), line: line)
      return true
    },
    ShieldCheck("a semaphore with a negative value", .source) { line in
      !ShieldedSemaphore(value: -1, line: line).wait(timeout: .now())
    },
    ShieldCheck("a semaphore that is released below its initial value", .source) { line in
      ShieldedSemaphore(value: 1, line: line).wait(timeout: .now())
    },
    ShieldCheck("a range of an NSArray that is out of bounds", .foundationRange) { line in
      ([1, 2, 3] as NSArray).shieldedSubarray(with: NSRange(location: 1, length: 9), line: line).count == 2
    },
    ShieldCheck("a range of an NSString that is out of bounds", .foundationRange) { line in
      ("abc" as NSString).shieldedSubstring(with: NSRange(location: 1, length: .max - 1), line: line) == "bc"
    },
    ShieldCheck("a string at the top level of JSON", .json) { line in
      do {
        _ = try JSONSerialization.shieldedData(withJSONObject: "text", line: line)
        return false
      } catch {
        return error is ShieldFault
      }
    },
    ShieldCheck("a JSON null where a number is expected", .null) { line in
      ShieldedJSON(["a": NSNull()]).a.int(or: 7, line: line) == 7
    },
    ShieldCheck("an NSNumber where a string is expected", .cast) { line in
      Shield.cast(NSNumber(value: 42), to: String.self, line: line) == "42"
    },
    ShieldCheck("the status of a process that was not started", .process) { line in
      Process().shieldedTerminationStatus(line: line) == nil
    },
    ShieldCheck("a write to a closed handle", .fileHandle) { line in
      let pipe = Pipe()
      try pipe.fileHandleForWriting.close()
      try pipe.fileHandleForReading.close()
      do {
        try pipe.fileHandleForWriting.shieldedWrite(Data([1]), line: line)
        return false
      } catch {
        return true
      }
    },
  ]

  /// The timeout for a tick of the timer.
  private static let patience = Duration.seconds(20)

  private static func ticking(_ line: UInt) async -> Bool {
    let timer = ShieldedTimer(
      every: .milliseconds(1), target: unknown(Target()), on: DispatchQueue(label: "self-test"), line: line
    ) { _ in }
    let end = ContinuousClock.now + patience
    // Poll, because the timer cancels itself without a notification. In a cancelled task, `sleep` returns at once.
    while !timer.isCancelled, ContinuousClock.now < end {
      do { try await Task.sleep(for: .milliseconds(1)) } catch { await Task.yield() }
    }
    defer { timer.cancel() }
    return timer.isCancelled
  }

  /// This check does not wait for the body, because the main queue possibly never runs it.
  private static func elsewhere(_ line: UInt) async -> Bool {
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        MainActor.shieldedRun(line: line) {}
        done.resume(returning: true)
      }
    }
  }

  /// Hides an object's lifetime from the optimizer.
  ///
  /// The optimizer rejects a weak reference to an object that it knows is deallocated.
  @inline(never)
  @_optimize(none)
  private static func unknown(_ target: Target) -> Target { target }
}

private final class Target: Sendable {}
