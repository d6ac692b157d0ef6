import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization
import TestKit
import Testing

/// Tests guards of background work in the modes `off` and `observe`.
@Suite
struct ServiceModeTests {
  @Test(
    "resuming a continuation twice ends the process as in Swift: in off without a record, in observe with one",
    arguments: 0..<3)
  func twice(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent]
    ) { [number] in
      begin(number)
      if number == plain {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
          continuation.resume()
          continuation.resume()
        }
      }
      try await withShieldedContinuation(of: Void.self) { continuation in
        continuation.resume()
        continuation.resume(line: 7)
      }
    }
    try expect(result, number, "[continuation observe GuardTests/ServiceModeTests.swift:7]")
  }

  @Test("a lost continuation waits forever, without a record in off and with a record in observe", arguments: 1..<3)
  func lost(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      begin(number)
      let isResumed = Flag()
      let gone = DispatchSemaphore(value: 0)
      Task {
        _ = try? await withShieldedContinuation(of: Int.self, line: 7) { continuation in
          // The closure on the queue `last` has the last copy of the continuation, which is therefore deallocated
          // there.
          DispatchQueue(label: "last").async {
            withExtendedLifetime(continuation) {}
            DispatchQueue.global().async { gone.signal() }
          }
        }
        isResumed.set()
      }
      await event(gone)
      if number == observe {
        while Shield.guardIncidents.isEmpty { await Task.yield() }
      }
      for _ in 0..<1000 { await Task.yield() }
      let incidents = Shield.guardIncidents
      guard !isResumed.isSet, incidents.map(\.line) == (number == observe ? [7] : []) else { complain("\(incidents)") }
      exit(right)
    }
  }

  @Test("main actor work on another thread ends the process as assumeIsolated does", arguments: 0..<3)
  func mainActor(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent]
    ) { [number] in
      begin(number)
      let thread = Thread {
        if number == plain { MainActor.assumeIsolated {} }
        MainActor.shieldedRun(line: 7) {}
      }
      thread.start()
      while true { await Task.yield() }
    }
    try expect(result, number, "[isolation observe GuardTests/ServiceModeTests.swift:7]")
  }

  @Test("a write to a pipe without a reader ends the process by SIGPIPE, in each mode", arguments: 0..<3)
  func pipe(number: Int) async throws {
    await #expect(processExitsWith: .signal(SIGPIPE)) { [number] in
      begin(number)
      signal(SIGPIPE, SIG_DFL)
      let handle = try unread()
      if number == plain { handle.write(Data([1])) } else { try handle.shieldedWrite(Data([1])) }
    }
  }

  @Test(
    "with SIGPIPE ignored a pipe write ends as FileHandle.write: in off without a record, in observe with one",
    arguments: 0..<3)
  func ignoredPipe(number: Int) async throws {
    let result = await #expect(
      processExitsWith: .signal(trapSignal), observing: [\.standardOutputContent]
    ) { [number] in
      begin(number)
      Shield.ignoreBrokenPipes()
      let handle = try unread()
      if number == plain { handle.write(Data([1])) } else { try handle.shieldedWrite(Data([1]), line: 7) }
    }
    try expect(result, number, "[pipe observe GuardTests/ServiceModeTests.swift:7]")
  }

  @Test("a transition has the same result in every mode, and off records nothing", arguments: 0..<3)
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

  @Test("in observe and off, a timer with a deallocated target continues to tick, and off records nothing")
  func timer() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setMode(.observe)
      let queue = DispatchQueue(label: "ticks")
      let timer = ShieldedTimer(every: .milliseconds(1), target: Target(), on: queue) { _ in }
      while count() < 2 { await Task.yield() }
      guard !timer.isCancelled, Shield.guardIncidents.map(\.mode) == [.observe] else { complain("cancelled") }
      // Changes the mode on the timer's queue, so no tick runs at the same time.
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

  /// Checks the output of the child after a mark, which follows the output of the testing library.
  private func expect(_ result: ExitTest.Result?, _ number: Int, _ record: String) throws {
    let text = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
    #expect(number == observe ? text.hasSuffix(record) : !text.contains("["))
  }
}

/// The number 0 stands for the operation without a guard; the other numbers stand for modes.
private let plain = 0
private let observe = 2

private func begin(_ number: Int) {
  beginCrash()
  if number == plain { return }
  Shield.setMode(number == observe ? .observe : .off)
  Shield.onIncident { tell("[\($0.kind.name) \($0.mode) \($0.fileID):\($0.line)]") }
}

private func event(_ semaphore: DispatchSemaphore) async {
  await withCheckedContinuation { continuation in
    Thread {
      semaphore.wait()
      continuation.resume()
    }.start()
  }
}

private func unread() throws -> FileHandle {
  let pipe = Pipe()
  try pipe.fileHandleForReading.close()
  return pipe.fileHandleForWriting
}

private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

private func count() -> Int { Shield.guardIncidents.first?.count ?? 0 }

private final class Target: Sendable {}
