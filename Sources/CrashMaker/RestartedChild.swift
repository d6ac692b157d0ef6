// A forked child that has a shield of its own.
internal import CCrashMaker
internal import CShim
internal import Glibc

/// Forks; the child starts the shield and crashes, the parent waits and exits.
func crashInRestartedChild() {
  cs_fork_and_wait {
    // The environment says the rest. With the shield disabled the child crashes all the same.
    _ = cs_shim_start(nil, nil)
    cs_fault_null_write()
  }
}
