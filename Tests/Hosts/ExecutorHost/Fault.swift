// Executor checks that fail, as in an ordinary program. This file does not depend on the shield. The record of a fault
// names its line: the line of the innermost frame of this file.
import Foundation
import Synchronization

/// Counts the finished work.
///
/// The counter is atomic, because a plain number would be a data race between threads.
let worked = Atomic(0)
func work() { worked.add(1, ordering: .relaxed) }

@MainActor
final class Screen {
  static let shared = Screen()

  nonisolated init() {}

  func draw() { work() }
}

actor Counter {
  func count() { work() }

  func verify() { requireCounter(self) }
}

/// An actor on an executor that can answer whether it is the current executor.
actor Teller {
  nonisolated let executor = Loop()

  func count() { work() }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  func verify() { requireTeller(self) }
}

/// An actor on an executor that cannot answer whether it is the current executor. The check of this executor can only
/// trap if the executor is not current.
actor Silent {
  nonisolated let executor = CheckingLoop()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  func verify() { requireSilent(self) }
}

@globalActor
actor Storage {
  static let shared = Storage()
}

protocol Delegate {
  func changed()
}

/// A conformance for which the compiler adds a check that the caller is on the main actor.
@MainActor
final class Window: @preconcurrency Delegate {
  nonisolated init() {}

  func changed() { Screen.shared.draw() }
}

/// A global actor with its own executor. The conformance of `Told` is isolated to it.
@globalActor
actor Telling {
  static let shared = Telling()
  nonisolated static let executor = Loop()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe Self.executor.asUnownedSerialExecutor() }
}

@Telling
final class Told: @preconcurrency Delegate {
  nonisolated init() {}

  func changed() { work() }
}

@inline(never) func assumeMain() { MainActor.assumeIsolated { Screen.shared.draw() } }
@inline(never) func requireMain() { MainActor.preconditionIsolated() }
@inline(never) func assertMain() { MainActor.assertIsolated() }
@inline(never) func assumeCounter(_ counter: Counter) { counter.assumeIsolated { $0.count() } }
@inline(never) func requireCounter(_ counter: Counter) { counter.preconditionIsolated() }
@inline(never) func assumeMainElsewhere() { MainActor.assumeIsolated { work() } }
// The second statement makes this function differ from those above: the optimizer would merge equal ones.
@inline(never) func assumeCounterElsewhere(_ counter: Counter) {
  counter.assumeIsolated {
    $0.count()
    work()
  }
}
@inline(never) func assumeTeller(_ teller: Teller) { teller.assumeIsolated { $0.count() } }
@inline(never) func requireTeller(_ teller: Teller) { teller.preconditionIsolated() }
@inline(never) func requireExecutor(_ loop: Loop) { loop.preconditionIsolated() }
@inline(never) func requireStorage() { Storage.preconditionIsolated() }
@inline(never) func requireSilent(_ silent: Silent) { silent.preconditionIsolated() }

struct Fault: Sendable {
  var name: String
  var body: @Sendable () -> Void

  static let counter = Counter()
  static let teller = Teller()
  static let silent = Silent()
  static let window: any Delegate & Sendable = Window()
  static let told: any Delegate & Sendable = Told()

  static let all: [Fault] = [
    Fault(name: "assume-main") { assumeMain() },
    Fault(name: "require-main") { requireMain() },
    Fault(name: "assert-main") { assertMain() },
    Fault(name: "assume-actor") { assumeCounter(counter) },
    Fault(name: "require-actor") { requireCounter(counter) },
    Fault(name: "assume-teller") { assumeTeller(teller) },
    Fault(name: "require-teller") { requireTeller(teller) },
    Fault(name: "require-executor") { requireExecutor(teller.executor) },
    Fault(name: "require-global") { requireStorage() },
    Fault(name: "require-silent") { requireSilent(silent) },
    Fault(name: "conformance-main") { window.changed() },
    Fault(name: "conformance-teller") { told.changed() },
    Fault(name: "task-main") {
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        assumeMain()
        done.signal()
      }
      done.wait()
    },
    Fault(name: "other-actor") {
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        await Other().work()
        done.signal()
      }
      done.wait()
    },
  ]
}

extension Fault {
  /// Failing checks at different source locations.
  ///
  /// A loop calls all these checks from one call site.
  static let places: [@Sendable () -> Void] = [
    { MainActor.preconditionIsolated() },
    { requireMain() },
    { assumeMain() },
    { assumeMainElsewhere() },
    { assumeCounter(counter) },
    { assumeCounterElsewhere(counter) },
  ]
}

/// An actor whose code wrongly assumes that another actor isolates it.
actor Other {
  func work() { requireTeller(Fault.teller) }
}
