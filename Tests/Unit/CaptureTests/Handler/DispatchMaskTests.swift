import CShim
import Dispatch
import Glibc
import Testing

@Suite("The signal mask of Dispatch's threads", .unlessSanitized)
struct DispatchMaskTests {
  @Test("a thread of Dispatch blocks SIGTERM, but not SIGABRT, which abort() raises")
  func dispatch() async {
    // Runs in a separate process, because other tests can change the masks of Dispatch's threads.
    await #expect(processExitsWith: .exitCode(3)) {
      let (group, blocked) = (DispatchGroup(), Blocked())
      DispatchQueue.global().async(group: group) { blocked.read() }
      group.wait()
      exit(blocked.hasTermination && !blocked.hasAbort ? 3 : 1)
    }
  }

  @Test("a program can block SIGABRT together with all other signals")
  func otherSets() {
    var before = sigset_t()
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
    let blocked = Blocked()
    blocked.read()
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    #expect(blocked.hasTermination && blocked.hasAbort)
  }
}

/// Whether a thread blocks SIGTERM and SIGABRT.
///
/// Sendable: a thread writes the values, and the test reads them only after that.
private final class Blocked: @unchecked Sendable {
  private(set) var hasTermination = false
  private(set) var hasAbort = false

  /// Reads the mask of the calling thread.
  func read() {
    var mask = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
    hasTermination = unsafe sigismember(&mask, SIGTERM) == 1
    hasAbort = unsafe sigismember(&mask, SIGABRT) == 1
  }
}
