// A forked child that has a shield of its own.
internal import CCrashMaker
internal import CrashShield
internal import Glibc

/// Forks; the child starts the shield and crashes, the parent waits and exits.
func crashInRestartedChild() {
  cs_fork_and_wait {
    // With the shield disabled the child crashes all the same.
    try? Shield.startInForkedChild()
    cs_fault_null_write()
  }
}
