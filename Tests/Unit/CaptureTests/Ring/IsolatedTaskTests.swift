import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import TestKit
import Testing

/// Tests how a trap in isolated async work (`Shield.isolated`) affects tasks, actors and gates (`ExclusiveGate`, which
/// admits one caller at a time).
///
/// Each test runs in its own process.
@Suite("Isolated work: tasks", .unlessSanitized)
struct IsolatedTaskTests {
  @Test("isolated async work is canceled with its caller, and the caller waits until the work ends")
  func cancellation() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let hasBegun = DispatchSemaphore(value: 0)
      let task = Task {
        try await Shield.isolated {
          hasBegun.signal()
          while !Task.isCancelled { await Task.yield() }
          return 7
        }
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          hasBegun.wait()
          continuation.resume()
        }
      }
      task.cancel()
      Glibc.exit(try await task.value == 7 ? rightStatus : 1)
    }
  }

  @Test("child tasks of isolated work continue after a trap in that work")
  func children() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      do {
        try await Shield.isolated {
          async let child: Void = {
            await Elsewhere.shared.wait()
            continuation.yield(5)
          }()
          await Task.yield()
          _ = shelf(0)
          await child
        }
      } catch ShieldFault.trapped {}
      await Elsewhere.shared.open()
      for await number in stream { Glibc.exit(number == 5 ? rightStatus : 1) }
    }
  }

  @Test("a trap in isolated async work cancels its child tasks and calls its cancellation handlers")
  func childrenAreCancelled() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      do {
        try await Shield.isolated {
          await withTaskCancellationHandler {
            async let child: Void = {
              while !Task.isCancelled { await Task.yield() }
              continuation.yield(5)
            }()
            await Task.yield()
            _ = shelf(0)
            await child
          } onCancel: {
            continuation.yield(6)
          }
        }
      } catch ShieldFault.trapped {}
      var told: Set<Int> = []
      for await number in stream {
        told.insert(number)
        if told == [5, 6] { Glibc.exit(rightStatus) }
      }
    }
  }

  @Test("a trap in a child task of isolated work throws to the caller, and the rest of the work is canceled")
  func childTraps() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      do {
        try await Shield.isolated {
          async let child: Void = trapAtHome()
          await Elsewhere.shared.wait()
          while !Task.isCancelled { await Task.yield() }
          continuation.yield(5)
          await child
        }
        complain("not trapped")
      } catch ShieldFault.trapped {}
      guard Shield.containedFaultCount == 1 else { complain("\(Shield.containedFaultCount)") }
      await Elsewhere.shared.open()
      for await _ in stream { Glibc.exit(rightStatus) }
    }
  }

  @Test("an actor that isolated work calls runs on its own executor")
  func actorElsewhere() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let (inside, outside) = try await Shield.isolated {
        let outside = threadNumber()
        return (await Elsewhere.shared.threadNumber(), (outside, threadNumber()))
      }
      // After the call of the actor, the work resumes on its own thread, and not on the thread of the actor.
      Glibc.exit(inside != outside.0 && outside.0 == outside.1 ? rightStatus : 1)
    }
  }

  @Test("a trap in an actor that isolated work calls ends the process, because other tasks wait for the actor")
  func actorTraps() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        try await Shield.isolated { await Elsewhere.shared.trap() }
      }
    }
  }

  @Test("a trap inside of an ExclusiveGate that the work entered before a suspension ends the process")
  func asynchronousGate() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        try await Shield.isolated {
          await ExclusiveGate().run {
            await Task.yield()
            _ = shelf(0)
          }
        }
      }
    }
  }

  @Test("a trap inside of an ExclusiveGate that isolated work entered on another thread ends the process")
  func gateEnteredElsewhere() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        // The actor enters the gate on another thread. `trapAtHome` then traps on the thread of the isolated work.
        try await Shield.isolated { await Elsewhere.shared.enter(ExclusiveGate()) { await trapAtHome() } }
      }
    }
  }

  @Test("an ExclusiveGate that isolated work has left does not prevent containment")
  func gateOfChild() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let gate = ExclusiveGate()
      do {
        try await Shield.isolated {
          async let child: Void? = Elsewhere.shared.enter(gate) {}
          await child
          await trapAtHome()
        }
      } catch ShieldFault.trapped {}
      Glibc.exit(isOpen(gate) ? rightStatus : 1)
    }
  }

  @Test("a trap in a cancellation handler ends the process, because the handler runs with the task locked")
  func cancellationHandler() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        let task = Task {
          await withTaskCancellationHandler {
            await Elsewhere.shared.wait()
          } onCancel: {
            _ = shelf(0)
          }
        }
        await Elsewhere.shared.untilSomebodyWaits()
        try cancelInIsolatedWork(task)
      }
    }
  }

  @Test("a trap in a task group's cancellation handler ends the process")
  func cancellationHandlerInGroup() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        try await Shield.isolated {
          await withTaskGroup(of: Void.self) { group in
            group.addTask {
              await withTaskCancellationHandler {
                await Elsewhere.shared.wait()
              } onCancel: {
                _ = shelf(0)
              }
            }
            await Elsewhere.shared.untilSomebodyWaits()
            group.cancelAll()
          }
        }
      }
    }
  }
}

/// Cancels the current task in isolated work.
///
/// This function is not async, so that Swift selects the synchronous overload of `Shield.isolated`.
private func cancelInIsolatedWork(_ task: Task<Void, Never>) throws { try Shield.isolated { task.cancel() } }

private func isOpen(_ gate: ExclusiveGate) -> Bool { gate.run { true } ?? false }
