import Synchronization

/// Informs the policy keeper, which decides which classes are protected, of attached and ended processes, in order.
///
/// One call of the policy keeper, which is an actor, handles all pending notes (messages that a process attached or
/// ended). Separate calls for all notes would wait behind each other during many concurrent crashes, and the ring of
/// each waiting caller would stay mapped.
final class PolicyRegister: Sendable {
  enum Note: Sendable {
    case attached(AttachedProcess)
    case ended(AttachedProcess)
    /// Resumes the continuation after the policy has handled all earlier notes.
    case settled(CheckedContinuation<Void, Never>)
  }

  private struct State {
    var notes: [Note] = []
    var isTelling = false
  }

  private let policy: PolicyKeeper?
  private let state = Mutex(State())

  init(_ policy: PolicyKeeper?) { self.policy = policy }

  func note(_ note: Note) {
    guard let policy else {
      if case .settled(let continuation) = note { continuation.resume() }
      return
    }
    let begins = state.withLock { state in
      defer { state.isTelling = true }
      state.notes.append(note)
      return !state.isTelling
    }
    if begins { Task.detached { await self.tell(policy) } }
  }

  /// Returns when the policy has handled every note that was added before this call.
  func settle() async {
    guard state.withLock({ $0.isTelling }) else { return }
    await withCheckedContinuation { note(.settled($0)) }
  }

  private func tell(_ policy: PolicyKeeper) async {
    while true {
      let notes = state.withLock { state in
        defer { state.notes = [] }
        state.isTelling = !state.notes.isEmpty
        return state.notes
      }
      if notes.isEmpty { return }
      await policy.take(notes)
    }
  }
}

extension PolicyKeeper {
  func take(_ notes: [PolicyRegister.Note]) {
    for note in notes {
      switch note {
      case .attached(let process): attached(process)
      case .ended(let process): ended(process)
      case .settled(let continuation): continuation.resume()
      }
    }
  }
}
