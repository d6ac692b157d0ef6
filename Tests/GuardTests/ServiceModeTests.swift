import CrashShield
import CrashShieldFoundation
import Foundation
import Testing

private let right: Int32 = 42

/// What goes on by itself, with the guards off and observing.
@Suite
struct ServiceModeTests {
  @Test("observe: a second resumption is recorded, then ends the process as Swift's does")
  func twice() async throws {
    let result = await #expect(processExitsWith: .signal(SIGILL), observing: [\.standardOutputContent]) {
      beginCrash()
      Shield.setMode(.observe)
      Shield.onIncident { tell("[\($0.kind.name) \($0.mode)]") }
      try await withShieldedContinuation(of: Void.self) { continuation in
        continuation.resume()
        continuation.resume()
      }
    }
    #expect(try #require(text(result)).hasSuffix("[continuation observe]"))
  }

  @Test("observe: work of the main actor on another thread is recorded, then ends the process as assumeIsolated does")
  func mainActor() async throws {
    let result = await #expect(processExitsWith: .signal(SIGILL), observing: [\.standardOutputContent]) {
      beginCrash()
      Shield.setMode(.observe)
      Shield.onIncident { tell("[\($0.kind.name) \($0.mode)]") }
      let thread = Thread { MainActor.shieldedRun {} }
      thread.start()
      while true { await Task.yield() }
    }
    #expect(try #require(text(result)).hasSuffix("[isolation observe]"))
  }

  @Test("what a transition comes to is the same in every mode; off records nothing", arguments: 0..<3)
  func transitions(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      let mode = ShieldMode.allCases[number]
      Shield.setMode(mode)
      await MainActor.run {
        let navigation = Navigation(.drop)
        let outcomes = [
          navigation.queue.pop(), navigation.queue.push(Screen("a")), navigation.queue.push(Screen("b")),
        ]
        guard outcomes == [.dropped(.atRoot), .started, .dropped(.busy)], navigation.names == ["home", "a"] else {
          complain("\(outcomes) \(navigation.names)")
        }
      }
      let incidents = Shield.guardIncidents
      guard incidents.map(\.count).reduce(0, +) == (mode == .off ? 0 : 2),
        incidents.allSatisfy({ $0.kind == .transition && $0.mode == mode })
      else { complain("\(incidents)") }
      exit(right)
    }
  }

  @Test("observe and off: the timer of a target that has gone goes on; off records nothing of it")
  func timer() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setMode(.observe)
      let queue = DispatchQueue(label: "ticks")
      let timer = ShieldedTimer(every: .milliseconds(1), target: Target(), on: queue) { _ in }
      while count() < 2 { await Task.yield() }
      guard !timer.isCancelled, Shield.guardIncidents.map(\.mode) == [.observe] else { complain("cancelled") }
      // No tick is under way when the mode changes.
      queue.sync { Shield.setMode(.off) }
      let before = count()
      let later = DispatchSemaphore(value: 0)
      let other = Target()
      let clock = ShieldedTimer(every: .milliseconds(5), target: other, on: queue) { _ in later.signal() }
      await withCheckedContinuation { continuation in
        Thread {
          later.wait()
          continuation.resume()
        }.start()
      }
      queue.sync {
        guard count() == before, !timer.isCancelled else { complain("recorded, or cancelled") }
        Shield.setMode(.observe)
      }
      while count() == before { await Task.yield() }
      withExtendedLifetime((other, clock, timer)) {}
      exit(right)
    }
  }

  private func text(_ result: ExitTest.Result?) -> String? {
    result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }
  }
}

private func count() -> Int { Shield.guardIncidents.first?.count ?? 0 }

private final class Target: Sendable {}
