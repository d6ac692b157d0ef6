import CShim
import Dispatch
import Glibc
import Testing

@Suite("The signal mask of Dispatch's threads", .unlessSanitized)
struct DispatchMaskTests {
  @Test("a thread of Dispatch blocks SIGTERM, but not SIGABRT, which abort() raises")
  func dispatch() async {
    // In a process of its own, because other tests can change the masks of Dispatch's threads.
    await #expect(processExitsWith: .exitCode(3)) {
      let (group, blocked) = (DispatchGroup(), Blocked())
      DispatchQueue.global().async(group: group) { blocked.read() }
      group.wait()
      exit(blocked.hasTermination && !blocked.hasAbort ? 3 : 1)
    }
  }

  @Test("other sets with SIGABRT are blocked as given")
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

/// The signals that a thread blocks, before and during the work.
///
/// Sendable: one thread writes the values before another thread reads them.
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
