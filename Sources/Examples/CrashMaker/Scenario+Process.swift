// Crashes of child processes, and a program that executes another program. The functions are in CCrashMaker.
internal import CCrashMaker
internal import CrashShield
internal import Glibc

extension Scenario {
  private static let notStartedAnew = "a forked child has no shield until it starts one"

  static let processes = [
    c("fork-child", "", "crash in a forked child", cs_fault_fork_child).with { $0.silence = notStartedAnew },
    c("vfork-child", "", "crash in a vfork child, in its parent's memory", cs_fault_vfork_child).with {
      $0.silence = "a vfork child has its parent's memory, not its shield"
    },
    c("double-fork", "", "crash in a grandchild", cs_fault_double_fork).with { $0.silence = notStartedAnew },
    Scenario(
      "fork-child-restarted", "", "cs_fault_null_write", summary: "crash in a forked child that starts the shield anew",
      crashInRestartedChild
    ).with {
      $0.callsLibrary = true
      $0.mark = "null-write"
      $0.reportedSignal = "SIGSEGV"
      $0.isChildReported = true
      $0.withoutDebugger = "gdb follows the parent process, but a child process crashes"
    },
    Scenario(
      "double-fork-reattached", "", "cs_fault_null_write",
      summary: "crash in a grandchild, where each forked child has a shield", cs_fault_double_fork_reattached
    ).with {
      $0.mark = "null-write"
      $0.reportedSignal = "SIGSEGV"
      $0.isChildReported = true
      $0.withoutDebugger = "gdb follows the parent process, but a child process crashes"
      $0.environment = ["CRASHSHIELD_FORK": "1"]
    },
    c("posix_spawn-child", "", "crash in a spawned child", function: "cs_fault_null_write", cs_fault_posix_spawn_child)
      .with {
        $0.mark = "null-write"
        $0.reportedSignal = "SIGSEGV"
        $0.isChildReported = true
        $0.withoutDebugger = "gdb follows the parent process, but a child process crashes"
      },
    c("exec-after-attach", "", "become another program", cs_fault_exec_after_attach).with {
      $0.silence = "nothing crashes"
    },
  ]
}

/// Forks the process.
///
/// The child starts the shield and crashes. The parent waits for the child and exits.
func crashInRestartedChild() {
  cs_fork_and_wait {
    // Ignore an error, because the child must also crash if the shield is disabled.
    try? Shield.startInForkedChild()
    cs_fault_null_write()
  }
}
