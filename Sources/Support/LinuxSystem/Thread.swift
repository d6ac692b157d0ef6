import CLinux
import Glibc

/// A dedicated thread for work that blocks in the kernel.
///
/// Foundation's `Thread` is not used, because the programs would have to link all of Foundation.
public enum Thread: Sendable {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a detached thread.
  ///
  /// `name` has at most 15 bytes.
  public static func start(named name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
    var thread = pthread_t()
    // Invariant: the first line of the thread balances this retain, or the code below does if the thread could not be
    // created.
    let body = unsafe Unmanaged.passRetained(
      Body {
        // Invariant: the string is valid during the call.
        unsafe name.withCString { unsafe cd_thread_set_name($0) }
        run()
      })
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      unsafe body.release()
      throw SystemError("start the thread '\(name)'", code: code)
    }
    pthread_detach(thread)
  }
}
