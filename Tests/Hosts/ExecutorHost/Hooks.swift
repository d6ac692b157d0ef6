import Glibc

/// The variables of the Swift runtime in which the shield sets its hooks.
enum Hooks {
  static let names = ["swift_task_checkIsolated_hook", "swift_task_isIsolatingCurrentContext_hook"]

  /// Clears the hooks.
  ///
  /// The runtime then works as without the shield.
  static func clear() {
    for name in names {
      // Invariant: the hook variables belong to the runtime. No other thread runs yet, so the write is not a race.
      unsafe dlsym(nil, name)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
    }
  }
}
