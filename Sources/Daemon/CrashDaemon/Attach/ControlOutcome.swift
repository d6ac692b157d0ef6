import CShimRing
import Synchronization

/// Records whether a process has applied its plan: the classes to protect against use-after-free, and the modes of
/// guards.
///
/// The attach thread writes the outcome, and the calls that serve clients read it.
final class ControlOutcome: Sendable {
  /// A part of a plan; each message of a plan belongs to one part.
  enum Subject: Sendable, Equatable {
    case protection
    case guards
  }

  /// The current outcome of a plan.
  struct State: Sendable, Equatable {
    /// The plan that was sent to the process; nil if there is no plan.
    var plan: ControlPlan?
    /// Whether the process has answered all messages of the plan.
    var isComplete = true
    /// Whether the process has ended, or crashd sends it no further messages.
    var isOver = false
    /// The number of classes whose protection the process has set as the plan requires.
    var done = 0
    /// The reasons of the process's refusals, by class.
    var refused: [String: String] = [:]

    /// The answer with which the process refused its guard modes; nil if it did not refuse them.
    var guardsRefused: String?

    /// Whether the process has applied the part `subject` of the plan `wanted`.
    func obeys(_ wanted: ControlPlan?, about subject: Subject) -> Bool {
      !isOver && hasReached(wanted) && (subject == .guards ? guardsRefused == nil : refused.isEmpty)
    }

    func hasReached(_ wanted: ControlPlan?) -> Bool { isOver || (isComplete && plan == wanted) }
  }

  private struct Waiter {
    var plan: ControlPlan?
    var continuation: CheckedContinuation<Void, Never>
    var alarm: Task<Void, any Error>

    func resume() {
      alarm.cancel()
      continuation.resume()
    }
  }

  private struct Guarded {
    var state = State()
    var waiters: [UInt64: Waiter] = [:]
    var nextWaiter: UInt64 = 0

    /// Removes and returns the waiters whose plan the process has answered completely.
    mutating func ready() -> [Waiter] {
      let ready = waiters.filter { state.hasReached($0.value.plan) }
      for number in ready.keys { waiters[number] = nil }
      return Array(ready.values)
    }
  }

  private let guarded = Mutex(Guarded())

  var now: State { guarded.withLock { $0.state } }

  func begin(_ plan: ControlPlan?) { change { $0 = State(plan: plan, isComplete: false, isOver: $0.isOver) } }

  func note(_ answer: ControlAnswer, of subject: String, _ kind: cs_control_kind, isLast: Bool) {
    change { state in
      if isLast { state.isComplete = true }
      if kind == .CS_CONTROL_WITHHOLD {
        // Ignore a refusal to withhold memory, because crashd discards the memory in any case.
      } else if kind == .CS_CONTROL_GUARDS {
        let isDone = answer.result == cs_control_result.CS_CONTROL_DONE.rawValue
        state.guardsRefused = isDone ? nil : ControlAnswer.word(answer.result)
      } else if kind == .CS_CONTROL_SWEEP, state.plan?.budgetBytes == nil {
        // A plan without a budget contains no classes. Ignore the refusal by a process without a quarantine, because
        // the process has no class to protect.
      } else if answer.result == cs_control_result.CS_CONTROL_DONE.rawValue {
        if !subject.isEmpty { state.done += 1 }
      } else {
        state.refused[subject] = ControlAnswer.word(answer.result)
      }
    }
  }

  /// Records that the process sends no further answers.
  func end() { change { $0.isOver = true } }

  /// Waits until the process has answered all messages of a plan or has ended, but not longer than `timeout_ms`.
  func reached(_ plan: ControlPlan?, timeout_ms: Int) async {
    await withCheckedContinuation { continuation in
      let isReady = guarded.withLock { guarded in
        if guarded.state.hasReached(plan) { return true }
        guarded.nextWaiter += 1
        let number = guarded.nextWaiter
        // Create the alarm while the lock is held, so that even an alarm that fires immediately finds its waiter.
        let alarm = Task { [weak self] in
          try await Task.sleep(for: .milliseconds(timeout_ms))
          self?.giveUp(number)
        }
        guarded.waiters[number] = Waiter(plan: plan, continuation: continuation, alarm: alarm)
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  private func giveUp(_ number: UInt64) {
    guarded.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
  }

  private func change(_ body: (inout State) -> Void) {
    let ready = guarded.withLock { guarded in
      body(&guarded.state)
      return guarded.ready()
    }
    for waiter in ready { waiter.resume() }
  }
}
