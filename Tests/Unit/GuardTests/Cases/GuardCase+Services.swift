import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

extension GuardCase {
  /// Cases of guards for background work whose result is available immediately after the call.
  ///
  /// Without a guard, most of these faults do not trap. The resulting value is the same in every mode unless a case
  /// states otherwise.
  static let services: [GuardCase] = [
    GuardCase(
      "an actor's work on another executor", .isolation, SIGABRT, plain: { use(Place().assumeIsolated { $0.number }) }
    ) {
      Place().shieldedAssumeIsolated { $0.number } == nil
    },
    GuardCase(
      "a handle to a deallocated object", .handle, SIGSEGV, isPerformed: false, plain: { readGoneContext() }
    ) {
      // The context is the number of a handle, and not the address of an object.
      unsafe ShieldHandle.resolve(goneHandle().context, as: Place.self) == nil
    },
    GuardCase("an observer added twice", .observation, nil, plain: {}) {
      let registry = ObserverRegistry<Subject>()
      let place = Place()
      guard registry.add(place, for: \.count, { _, _ in }) else { return false }
      // Without the guard, the center would call the observer twice.
      let isAbsorbing = Shield.mode(for: .observation) == .absorb
      return registry.add(place, for: \.count) { _, _ in } == !isAbsorbing && registry.count == (isAbsorbing ? 1 : 2)
    },
    GuardCase("a removal of an observer that was not added", .observation, nil, plain: {}) {
      !ObserverRegistry<Subject>().remove(Place(), for: \Subject.count)
    },
    GuardCase("an unknown message", .message, nil, plain: {}) {
      DynamicReceiver(Place(), methods: [:]).greet() == nil
    },
    GuardCase("a message with a wrong number of arguments", .message, nil, plain: {}) {
      let place = DynamicReceiver(Place(), methods: ["greet": { _, _ in 5 }], counts: ["greet": 1])
      return place.greet() == nil && place.greet("x") as? Int == 5
    },
    GuardCase("a notification to a deallocated observer", .notification, nil, plain: {}) {
      let center = NotificationCenter()
      let name = Notification.Name("gone")
      let observation = center.shieldedAddObserver(Place(), forName: name) { _, _ in complain("called") }
      center.post(name: name, object: nil)
      return withExtendedLifetime(observation) { true }
    },
    GuardCase("a timer without an interval", .timer, nil, plain: {}) {
      let place = Place()
      let queue = DispatchQueue(label: "timer")
      let timer = ShieldedTimer(every: .zero, target: place, on: queue) { (_: Place) in }
      timer.cancel()
      // The target must live until a tick that is already running has ended: without it, this tick would be a second
      // fault.
      return withExtendedLifetime(place) { queue.sync { timer.isCancelled } }
    },
  ]

  /// Simulates a C callback whose context was deallocated.
  ///
  /// The memory is unmapped. In freed heap memory, the read could return another object's value without a fault.
  private static func readGoneContext() {
    let bytes = 4096
    guard
      let context = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      unsafe munmap(context, bytes) == 0
    else { return }
    // This read of unmapped memory is the fault of the case.
    unsafe use(opaque(context).load(as: Int.self))
  }

  private static func goneHandle() -> ShieldHandle { ShieldHandle(Place()) }
}

private actor Place {
  var number = 5
}

private struct Subject {
  var count = 0
}
