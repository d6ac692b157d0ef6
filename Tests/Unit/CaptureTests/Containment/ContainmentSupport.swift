import CShim
import CShimRing
import CrashShield
import Foundation
import Glibc
import Synchronization

/// Starts the contained requests of a test, and counts their results.
final class Requests: Sendable {
  private let gate = Gate()
  private let counts = Mutex<(waiting: Int, finished: Int, trapped: Int, ended: Int)>((0, 0, 0, 0))

  var finished: Int { counts.withLock { $0.finished } }
  var trapped: Int { counts.withLock { $0.trapped } }
  var ended: Int { counts.withLock { $0.ended } }

  /// Starts requests that wait at a gate, and returns when all of them wait.
  func begin(_ count: Int) async {
    for index in 0..<count { start("waiting \(index)") { await self.gate.wait() } }
    await gate.isFull(count)
  }

  /// Lets the waiting requests finish.
  func letGo() async { await gate.open() }

  /// Starts a request.
  ///
  /// Does not wait until it ends.
  func start(_ operation: String, _ work: @escaping @Sendable () async throws -> Void) {
    Task.detached { await self.run(operation, work) }
  }

  /// Runs a request.
  func run(_ operation: String, _ work: @escaping @Sendable () async throws -> Void) async {
    do {
      try await Shield.withContainedRequest(operation, work)
      counts.withLock { $0.finished += 1 }
    } catch ShieldFault.trapped {
      counts.withLock { $0.trapped += 1 }
    } catch {
      counts.withLock { $0.ended += 1 }
    }
  }
}

/// Starts the shield with this containment mode, without crashd.
///
/// Calls `onDrain` when a drain begins.
func startShield(spool: String, _ containment: Shield.Containment, onDrain: (@Sendable () -> Void)? = nil) {
  var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: spool)
  configuration.containment = containment
  configuration.onDrain = onDrain
  do {
    try Shield.startOrThrow(configuration)
  } catch {
    complain("\(error)")
  }
}

/// An event that code outside of tasks can signal, and that a task can await.
final class Event: Sendable {
  private let gate = Gate()

  func happen() { Task.detached { await self.gate.open() } }
  func wait() async { await gate.wait() }
}

/// Waits until the process ends.
func stayForever() async {
  // Invariant: the continuation is never resumed, because the process ends first.
  await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
}

/// Runs a function on a new thread.
func startThread(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread { body() } }

extension RingBytes {
  /// Returns the handler's verdict about the crash in a slot, and the reason of the verdict.
  func verdict(slot: Int = 0) -> (cs_ring_verdict?, cs_ring_verdict_reason?) {
    let record = TestRing.record(slot)
    return (
      cs_ring_verdict(rawValue: load(at: record + fieldOffset(\cs_ring_record.verdict))),
      cs_ring_verdict_reason(rawValue: load(at: record + fieldOffset(\cs_ring_record.verdict_reason)))
    )
  }

  var drainEnd: cs_ring_drain_end? { cs_ring_drain_end(rawValue: header.drain_end) }

  /// The operations of the requests that ended because of a trap.
  var trapped: [String] { requests.filter { $0.step == UInt64(CS_RING_REQUEST_TRAPPED) }.map(\.operation) }
}
