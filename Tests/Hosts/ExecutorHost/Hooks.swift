import Glibc

/// The hook variables of the Swift runtime.
enum Hooks {
  static let names = ["swift_task_checkIsolated_hook", "swift_task_isIsolatingCurrentContext_hook"]

  /// Clears the hooks.
  ///
  /// After this call the runtime works as without the shield.
  static func clear() {
    for name in names {
      // The hook variables belong to the runtime. The write is safe, because no other thread runs yet.
      unsafe dlsym(nil, name)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
    }
  }
}
