import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization
import Testing

/// Tests guards of background work: timers, observers, continuations and the main actor.
@Suite
struct ServiceTests {
  @Test("a timer whose target is deallocated cancels itself and records one incident")
  func timer() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let ticks = DispatchSemaphore(value: 0)
      let timer = started(ticks)
      while !timer.isCancelled { await Task.yield() }
      guard Shield.guardIncidents.map(\.kind) == [.timer], Shield.guardIncidents[0].count == 1 else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("a canceled, suspended or released timer causes no incident and no trap")
  func quietTimer() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let target = Target()
      ShieldedTimer(every: .seconds(60), target: target) { _ in }.cancel()
      let suspended = ShieldedTimer(every: .seconds(60), target: target) { _ in }
      suspended.suspend()
      suspended.suspend()
      suspended.resume()
      suspended.resume()
      suspended.suspend()
      suspended.cancel()
      suspended.resume()
      do {
        let other = ShieldedTimer(every: .seconds(60), target: target) { _ in }
        other.suspend()
      }
      guard suspended.isCancelled, Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      _ = ShieldedTimer(every: .zero, target: target) { _ in }
      guard Shield.guardIncidents.map(\.kind) == [.timer] else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("a timer that belongs to an actor ticks on that actor's executor")
  func actorTimer() async {
    let counter = Counter()
    let timer = ShieldedTimer(every: .milliseconds(1), target: counter) { $0.count += 1 }
    while await counter.count < 3 { await Task.yield() }
    timer.cancel()
  }

  @Test("an observation ends when its observer is deallocated, or when the observation is canceled or released")
  func notifications() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let center = NotificationCenter()
      let name = Notification.Name("changed")
      let count = Order()
      let lives = Lives()
      let kept = lives.observation(center, name) { count.add(1) }
      let other = Target()
      let cancelled = center.shieldedAddObserver(other, forName: name) { _, _ in count.add(10) }
      do {
        let letGo = center.shieldedAddObserver(other, forName: name) { _, _ in count.add(100) }
        center.post(name: name, object: nil)
        withExtendedLifetime(letGo) {}
      }
      guard count.sum == 111 else { complain("not all") }
      cancelled.cancel()
      cancelled.cancel()
      center.post(name: name, object: nil)
      guard count.sum == 112, Shield.guardIncidents.isEmpty else { complain("not cancelled") }
      lives.end()
      center.post(name: name, object: nil)
      center.post(name: name, object: nil)
      guard count.sum == 112, Shield.guardIncidents.map(\.kind) == [.notification],
        Shield.guardIncidents[0].count == 1
      else { complain("\(Shield.guardIncidents)") }
      withExtendedLifetime((kept, other)) {}
      Glibc.exit(right)
    }
  }

  @Test("four kinds of observer misuse are absorbed, each with one record")
  func observers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let registry = ObserverRegistry<Cart>()
      let seen = Mutex<[Int]>([])
      let target = Target()
      let isAdded = registry.add(target, for: \.count) { _, count in seen.withLock { $0.append(count) } }
      let isTwice = registry.add(target, for: \.count) { _, _ in seen.withLock { $0.append(-1) } }
      let isOther = registry.add(target, for: \.size) { _, size in seen.withLock { $0.append(size * 100) } }
      registry.notify(\.count, 1)
      registry.notify(\.size, 2)
      let isRemoved = registry.remove(target, for: \Cart.count)
      let isAgain = registry.remove(target, for: \Cart.count)
      let isUnknown = registry.remove(target, for: \Cart.price)
      registry.notify(\.count, 3)
      guard isAdded, !isTwice, isOther, isRemoved, !isAgain, !isUnknown, seen.withLock({ $0 }) == [1, 200],
        Shield.guardIncidents.reduce(0, { $0 + $1.count }) == 3
      else { complain("\(seen.withLock { $0 }) \(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("an observer may add and remove observers while it is called, and registries may call each other")
  func nested() {
    let (first, second) = (ObserverRegistry<Cart>(), ObserverRegistry<Cart>())
    let target = Target()
    let seen = Mutex<[Int]>([])
    first.add(target, for: \.count) { target, count in
      seen.withLock { $0.append(count) }
      first.remove(target, for: \Cart.count)
      second.notify(\.count, count + 1)
    }
    second.add(target, for: \.count) { target, count in
      seen.withLock { $0.append(count) }
      first.add(target, for: \.size) { _, _ in }
      if count < 5 { first.notify(\.count, count + 1) }
    }
    first.notify(\.count, 1)
    #expect(seen.withLock { $0 } == [1, 2] && first.count == 1)
  }

  @Test("a registry removes an observer that has been deallocated")
  func gone() {
    let registry = ObserverRegistry<Cart>()
    do {
      let target = Target()
      registry.add(target, for: \.count) { _, _ in Issue.record("called") }
      #expect(registry.count == 1)
    }
    registry.notify(\.count, 1)
    #expect(registry.count == 0)
  }

  @Test("resuming a continuation twice is absorbed; if two threads resume it at once, exactly one succeeds")
  func continuation() async throws {
    let firsts = Atomic<Int>(0)
    for round in 0..<200 {
      let value: Int = try await withShieldedContinuation { continuation in
        for thread in 0..<2 {
          DispatchQueue.global().async {
            if continuation.resume(returning: round * 2 + thread) { firsts.add(1, ordering: .relaxed) }
          }
        }
      }
      #expect(value / 2 == round)
    }
    while firsts.load(ordering: .relaxed) < 200 { await Task.yield() }
    #expect(firsts.load(ordering: .relaxed) == 200)
    await #expect(throws: CancellationError.self) {
      try await withShieldedContinuation(of: Void.self) { $0.resume(throwing: CancellationError()) }
    }
  }

  @Test(
    "a task whose continuation is never resumed gets an error, and the record has the source location")
  func lost() async {
    await #expect(processExitsWith: .exitCode(right)) {
      do {
        _ = try await withShieldedContinuation(of: Int.self, line: 7) { _ in }
        complain("resumed")
      } catch {
        guard error as? ShieldFault == .leaked else { complain("\(error)") }
      }
      guard let incident = Shield.guardIncidents.first, Shield.guardIncidents.count == 1,
        incident.kind == .continuation, incident.mode == .absorb, incident.count == 1, incident.line == 7,
        incident.fileID == #fileID, incident.reason == "a continuation of Int was never resumed"
      else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("main actor work runs at once on the main thread; from another thread it runs later, in order")
  func mainActor() async {
    await #expect(processExitsWith: .exitCode(right)) {
      await MainActor.run {
        let isDone = Flag()
        MainActor.shieldedRun { isDone.value = true }
        guard isDone.value, Shield.guardIncidents.isEmpty else { complain("not at once") }
      }
      let order = Order()
      let thread = Thread {
        for number in 0..<10 {
          MainActor.shieldedRun {
            order.add(number)
          }
        }
      }
      thread.start()
      while order.numbers.count < 10 { await Task.yield() }
      // Ignores the incident about a late main queue, which also occurs if the machine stalls.
      let elsewhere = Shield.guardIncidents.filter { $0.reason.contains("on another thread") }
      guard order.numbers == Array(0..<10), elsewhere.map(\.count) == [10] else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("an unknown message returns nil and leaves one record")
  func messages() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let receiver = DynamicReceiver(
        Target(), methods: ["double": { _, arguments in (arguments.first as? Int).map { $0 * 2 } }])
      guard receiver.double(21) as? Int == 42, receiver.double("x") == nil, receiver.responds(to: "double") else {
        complain("known")
      }
      guard receiver.halve(42) == nil, receiver.halve() == nil, !receiver.responds(to: "halve") else {
        complain("unknown")
      }
      guard receiver.shut() == nil else { complain("unknown") }
      let incidents = Shield.guardIncidents.sorted { $0.count > $1.count }
      guard incidents.map(\.count) == [2, 1], incidents[0].reason.hasSuffix("Target does not respond to halve"),
        incidents[1].reason.hasSuffix("Target does not respond to shut")
      else { complain("\(Shield.guardIncidents)") }
      Glibc.exit(right)
    }
  }

  @Test("calls of unknown members have one incident for each of the first 64 names; further names share one incident")
  func names() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let receiver = DynamicReceiver(Target(), methods: [:])
      for _ in 0..<2 {
        for number in 0..<1000 { _ = receiver[dynamicMember: "name\(number)"]() }
      }
      let counts = Shield.guardIncidents.map(\.count).sorted()
      guard counts == Array(repeating: 2, count: 64) + [1872] else { complain("\(counts)") }
      Glibc.exit(right)
    }
  }

  @Test("a string's message to a number, or a number's to a string, converts the receiver and leaves a record")
  func convertedMessages() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let texts: [String: (String, [Any?]) -> Any?] = ["shout": { text, _ in text + "!" }]
      let numbers: [String: (Double, [Any?]) -> Any?] = ["half": { number, _ in number / 2 }]
      let number = DynamicReceiver(
        NSNumber(value: 42), methods: ["double": { number, _ in number.intValue * 2 }], textMethods: texts,
        numberMethods: numbers, line: 1)
      let text = DynamicReceiver(
        "42" as NSString, methods: [:], textMethods: texts, numberMethods: numbers, line: 2)
      let word = DynamicReceiver("x" as NSString, methods: [:], numberMethods: numbers, line: 3)
      guard number.double() as? Int == 84, Shield.guardIncidents.isEmpty else { complain("known") }
      guard number.shout() as? String == "42!", text.half() as? Double == 21 else { complain("not converted") }
      guard word.half() == nil, number.half() == nil else { complain("converted") }
      guard Shield.guardIncidents.map(\.line).sorted() == [1, 1, 2, 3] else { complain("\(Shield.guardIncidents)") }
      Shield.setMode(.observe, for: .message)
      guard number.shout() == nil else { complain("converted under observe") }
      Glibc.exit(right)
    }
  }

  @Test("a write to a pipe without a reader throws once SIGPIPE is ignored; the program's own handler stays")
  func brokenPipes() async {
    await #expect(processExitsWith: .exitCode(right)) {
      guard Shield.ignoreBrokenPipes(), Shield.ignoreBrokenPipes() else { complain("not ignored") }
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      do {
        try pipe.fileHandleForWriting.shieldedWrite(Data([1]))
        complain("written")
      } catch {}
      guard Shield.guardIncidents.map(\.kind) == [.pipe] else { complain("\(Shield.guardIncidents)") }
      signal(SIGPIPE) { _ in }
      guard !Shield.ignoreBrokenPipes() else { complain("a handler was taken away") }
      Glibc.exit(right)
    }
  }
}

private final class Target: Sendable {}

private struct Cart {
  var count = 0
  var size = 0
  var price = 0.0
}

@MainActor
private final class Flag {
  var value = false
}

/// Collects numbers in their order of arrival.
///
/// Sendable: all accesses occur while the lock is held. The lock is a pthread lock, because ThreadSanitizer does not
/// recognize the lock of a `Mutex`.
private final class Order: @unchecked Sendable {
  private let lock = NSLock()
  private var all: [Int] = []

  var numbers: [Int] { lock.withLock { all } }
  var sum: Int { numbers.reduce(0, +) }
  func add(_ number: Int) { lock.withLock { all.append(number) } }
}

private actor Counter {
  var count = 0
}

/// Starts a timer that ticks twice before its target is deallocated.
private func started(_ ticks: DispatchSemaphore) -> ShieldedTimer {
  let target = Target()
  let timer = ShieldedTimer(every: .milliseconds(1), target: target) { _ in ticks.signal() }
  ticks.wait()
  ticks.wait()
  guard !timer.isCancelled, Shield.guardIncidents.isEmpty else { complain("too early") }
  withExtendedLifetime(target) {}
  return timer
}

/// An observer whose own callback deallocates it.
private final class Lives {
  private var target: Target? = Target()

  @inline(never)
  func observation(
    _ center: NotificationCenter, _ name: Notification.Name, _ body: @escaping @Sendable () -> Void
  ) -> ShieldedObservation {
    center.shieldedAddObserver(target ?? Target(), forName: name) { _, _ in body() }
  }

  @inline(never)
  func end() { target = nil }
}
