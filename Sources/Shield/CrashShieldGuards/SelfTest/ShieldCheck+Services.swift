internal import CrashShield

extension ShieldCheck {
  static let services: [ShieldCheck] = [
    ShieldCheck("an unowned reference to a deallocated object", .reference) { line in
      let reference = ShieldedUnowned(SelfTest.unknown(Target()))
      return reference.with(or: 4, line: line) { _ in 5 } == 4
    },
    ShieldCheck("a handle to a deallocated object", .handle) { line in
      let handle = ShieldHandle(SelfTest.unknown(Target()))
      // Invariant: the context is a number, which `resolve` does not dereference.
      return unsafe ShieldHandle.resolve(handle.context, as: Target.self, line: line) == nil
    },
    ShieldCheck("removing an observer that was not added", .observation) { line in
      !ObserverRegistry<Subject>().remove(Target(), for: \Subject.count, line: line)
    },
    ShieldCheck("an unknown message", .message) { line in
      DynamicReceiver(Target(), methods: [:], line: line).greet() == nil
    },
    ShieldCheck("a second entry into a gate", .gate) { line in
      let gate = ExclusiveGate()
      return gate.run { gate.run(line: line) { 1 } } == .some(.none)
    },
    ShieldCheck("a leaked continuation", .continuation, .suspending(lettingGo)),
    ShieldCheck("a continuation resumed twice", .continuation, .suspending(resumingTwice)),
    ShieldCheck("code of an actor on another executor", .isolation) { line in
      try requireExecutors()
      return Place().shieldedAssumeIsolated(line: line) { $0.number } == nil
    },
    ShieldCheck("code of an actor on its executor, then on another", .isolation, .suspending(atHome)),
    ShieldCheck("popping the first screen", .transition, .onMainActor(popping)),
  ]

  private static func lettingGo(_ line: UInt) async -> Bool {
    do {
      return try await withShieldedContinuation(of: Bool.self, line: line) { _ in }
    } catch {
      return error as? ShieldFault == .leaked
    }
  }

  private static func resumingTwice(_ line: UInt) async throws -> Bool {
    try await withShieldedContinuation { continuation in
      continuation.resume(returning: true, line: line)
      continuation.resume(returning: false, line: line)
    }
  }

  private static func atHome(_ line: UInt) async throws -> Bool {
    try requireExecutors()
    let place = Place()
    let isThere = await place.isHome(line)
    return isThere && isElsewhere(place, line)
  }

  private static func isElsewhere(_ place: Place, _ line: UInt) -> Bool {
    place.shieldedAssumeIsolated(line: line) { $0.number } == nil
  }

  /// Ends the check with the reason if executors cannot be identified, because the guard would then perform the plain
  /// operation.
  private static func requireExecutors() throws {
    if let reason = Executors.unavailable { throw ShieldFault.refused(reason) }
  }

  @MainActor
  private static func popping(_ line: UInt) -> Bool {
    let driver = SelfTest.unknown(Driver())
    let screens = TransitionQueue(root: Target(), driver: driver)
    return withExtendedLifetime(driver) { screens.pop(line: line) == .dropped(.atRoot) && screens.stack.count == 1 }
  }
}

private final class Target: Sendable {}

private struct Subject {
  var count = 0
}

private actor Place {
  var number = 5

  func isHome(_ line: UInt) -> Bool { asked(line) == 5 }

  private nonisolated func asked(_ line: UInt) -> Int? { shieldedAssumeIsolated(line: line) { $0.number } }
}

/// A driver that shows no screens.
@MainActor
private final class Driver: TransitionDriver {
  func begin(_ transition: Transition<Target>, finished: @escaping @MainActor (TransitionEnd) -> Void) {}
}
