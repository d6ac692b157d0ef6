import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

extension GuardCase {
  /// Guards of background work, as far as they answer at once.
  ///
  /// Nothing traps without most of them; then their value is the same in every mode, if not said otherwise.
  static let services: [GuardCase] = [
    GuardCase("work of an actor elsewhere", .isolation, SIGABRT, plain: { use(Place().assumeIsolated { $0.number }) }) {
      Place().shieldedAssumeIsolated { $0.number } == nil
    },
    GuardCase(
      "a handle whose object has gone", .handle, SIGSEGV, isPerformed: false, plain: { readGoneContext() }
    ) {
      // The number is not the address of an object.
      unsafe ShieldHandle.resolve(goneHandle().context, as: Place.self) == nil
    },
    GuardCase("an observer added twice", .observation, nil, plain: {}) {
      let registry = ObserverRegistry<Subject>()
      let place = Place()
      guard registry.add(place, for: \.count, { _, _ in }) else { return false }
      // Without the guard it is called twice.
      let isAbsorbing = Shield.mode(for: .observation) == .absorb
      return registry.add(place, for: \.count) { _, _ in } == !isAbsorbing && registry.count == (isAbsorbing ? 1 : 2)
    },
    GuardCase("an observer taken away that was not there", .observation, nil, plain: {}) {
      !ObserverRegistry<Subject>().remove(Place(), for: \Subject.count)
    },
    GuardCase("a message that is not known", .message, nil, plain: {}) {
      DynamicReceiver(Place(), methods: [:]).greet() == nil
    },
    GuardCase("another number of arguments", .message, nil, plain: {}) {
      let place = DynamicReceiver(Place(), methods: ["greet": { _, _ in 5 }], counts: ["greet": 1])
      return place.greet() == nil && place.greet("x") as? Int == 5
    },
    GuardCase("a notification whose observer has gone", .notification, nil, plain: {}) {
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
      // A tick that is under way finds the target; else it would be a second fault.
      return withExtendedLifetime(place) { queue.sync { timer.isCancelled } }
    },
  ]

  /// What a callback of C does whose context has been given back, here to the kernel: a heap may keep it, and then there
  /// is another's value.
  private static func readGoneContext() {
    let bytes = 4096
    guard
      let context = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      unsafe munmap(context, bytes) == 0
    else { return }
    // It is not there any more, which is what is shown.
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
