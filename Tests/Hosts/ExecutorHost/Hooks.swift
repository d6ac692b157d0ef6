import Glibc

/// The hook variables of the Swift runtime.
enum Hooks {
  static let names = ["swift_task_checkIsolated_hook", "swift_task_isIsolatingCurrentContext_hook"]

  /// Clears the hooks, so that the runtime works as without the shield.
  static func clear() {
    for name in names {
      // The variables belong to the runtime, and they are written before any other thread runs.
      unsafe dlsym(nil, name)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
    }
  }
}
