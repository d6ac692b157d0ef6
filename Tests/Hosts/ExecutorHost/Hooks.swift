import Glibc

/// The runtime's own pointers.
enum Hooks {
  static let names = ["swift_task_checkIsolated_hook", "swift_task_isIsolatingCurrentContext_hook"]

  /// From here on the runtime is as without the shield.
  static func clear() {
    for name in names {
      // A pointer of the runtime's, which is set before any other thread runs.
      unsafe dlsym(nil, name)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
    }
  }
}
