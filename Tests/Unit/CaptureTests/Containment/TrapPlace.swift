import CShimRing
import CrashShield
import Dispatch
import Glibc

/// The place in a contained request where it traps.
enum TrapPlace: String, CaseIterable, Codable, Sendable {
  case task, afterAwait, asyncLet, groupChild, unstructured, failure
  case actor, mainActor, lazyGlobal, dispatch, print, libc, cancellation, deep, detached, thread

  /// The reason why a trap at this place drains the process; nil if the shield contains the trap.
  var reason: cs_ring_verdict_reason? {
    switch self {
    case .task, .afterAwait, .asyncLet, .groupChild, .unstructured, .failure: nil
    case .actor, .mainActor: .CS_RING_VERDICT_REASON_ACTOR
    case .lazyGlobal: .CS_RING_VERDICT_REASON_GLOBAL
    case .dispatch: .CS_RING_VERDICT_REASON_DISPATCH
    case .print: .CS_RING_VERDICT_REASON_STREAM
    case .libc: .CS_RING_VERDICT_REASON_LIBC
    case .cancellation: .CS_RING_VERDICT_REASON_CONCURRENCY
    case .deep: .CS_RING_VERDICT_REASON_DEEP
    case .detached: .CS_RING_VERDICT_REASON_REQUEST
    case .thread: .CS_RING_VERDICT_REASON_TASK
    }
  }

  /// Whether the shield can find out which request trapped.
  var isOfRequest: Bool { self != .detached && self != .thread }

  func trap() async {
    switch self {
    case .task: _ = shelf(0)
    case .afterAwait:
      for _ in 0..<5 { await Task.yield() }
      _ = shelf(0)
    case .asyncLet:
      async let number = shelf(0)
      _ = await number
    case .groupChild: await withTaskGroup(of: Void.self) { group in group.addTask { _ = shelf(0) } }
    case .unstructured: await Task { _ = shelf(0) }.value
    case .failure: fatalError("the last words")
    case .actor: await Elsewhere.shared.trap()
    case .mainActor: await MainActor.run { _ = shelf(0) }
    case .lazyGlobal: _ = brokenGlobal
    case .dispatch: DispatchQueue(label: "a queue").sync { _ = shelf(0) }
    case .print: Swift.print(BrokenDescription())
    case .libc: sortWithTrap()
    case .cancellation: await cancelWithTrap()
    case .deep: _ = climbAndTrap(400)
    case .detached: await Task.detached { _ = shelf(0) }.value
    case .thread: await trapOnThread()
    }
  }
}

private let brokenGlobal = shelf(0)

private struct BrokenDescription: CustomStringConvertible {
  var description: String { "\(shelf(0))" }
}

private func sortWithTrap() {
  var numbers: [Int32] = [3, 1, 2]
  // Invariant: the array is valid during the call.
  unsafe qsort(&numbers, 3, 4) { _, _ in Int32(shelf(0)) }
}

private func cancelWithTrap() async {
  let task = Task {
    await withTaskCancellationHandler {
      while true { await Task.yield() }
    } onCancel: {
      _ = shelf(0)
    }
  }
  await Task.yield()
  task.cancel()
  await task.value
}

@inline(never)
@_optimize(none)
private func climbAndTrap(_ steps: Int) -> Int {
  steps == 0 ? shelf(0) : climbAndTrap(opaque(steps) - 1) + 1
}

/// Traps on a thread that runs no task.
///
/// Never returns, because the trap ends the process.
private func trapOnThread() async {
  startThread { _ = shelf(0) }
  await stayForever()
}
