// Crashes of processes that lack resources or privileges. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let world = [
    c("no-descriptors", "SIGSEGV", "crash with no descriptor left", cs_fault_no_descriptors),
    c("no-memory", "SIGSEGV", "crash with no address space left", cs_fault_no_memory).with { $0.awaitsStatus = true },
    c("seccomp-strict-profile", "SIGSEGV", "crash under a filter of system calls", cs_fault_seccomp_strict_profile),
    c("full-disk", "SIGSEGV", "crash with a full disk", cs_fault_full_disk).with { $0.needsRoot = true },
    c("read-only-root", "SIGSEGV", "crash with everything read-only", cs_fault_read_only_root).with {
      $0.needsRoot = true
    },
    c("no-proc", "SIGSEGV", "crash without /proc", cs_fault_no_proc).with { $0.needsRoot = true },
    c("other-uid", "SIGSEGV", "crash as another user than at the start", cs_fault_other_uid).with {
      $0.needsRoot = true
    },
    c("chroot", "SIGSEGV", "crash in another root directory", cs_fault_chroot).with { $0.needsRoot = true },
    c("mount-namespace", "SIGSEGV", "crash in a mount namespace", cs_fault_mount_namespace).with {
      $0.needsRoot = true
    },
    c("pid-namespace", "SIGSEGV", "crash as the first process of a pid namespace", cs_fault_pid_namespace)
      .asFirstProcess(),
    c("abort-as-pid-1", "SIGSEGV", "call abort() as the first process of a pid namespace", cs_fault_abort_as_pid_1)
      .asFirstProcess().with { $0.reportedSignal = "SIGABRT" },
    c("trap-as-pid-1", "SIGILL", "trap as the first process of a pid namespace", cs_fault_trap_as_pid_1)
      .asFirstProcess(),
    Scenario(
      "fatal-error-as-pid-1", "SIGILL", "faultFatalErrorAsPid1", reason: "the container has no price list",
      summary: "call fatalError as the first process of a pid namespace", faultFatalErrorAsPid1
    ).asFirstProcess(),
    c(
      "kill-over-namespace", "SIGABRT", "get SIGABRT from outside of the pid namespace", cs_fault_kill_over_namespace
    ).with {
      $0.needsRoot = true
      $0.isChildReported = true
      $0.withoutDebugger = "gdb follows the parent process, but a child process crashes"
      $0.threads = [.main]
      $0.function = "wait_to_be_killed"
      $0.mark = ""
      $0.prepare = { cs_prepare_kill_over_namespace() }
    },
  ]
}

extension Scenario {
  /// Marks that the program runs as the first process of a pid namespace, as the main process of a container does.
  private func asFirstProcess() -> Scenario {
    with {
      $0.needsRoot = true
      $0.isChildReported = true
      $0.withoutDebugger = "gdb follows the parent process, but a child process crashes"
      $0.prepare = { cs_prepare_pid_namespace() }
    }
  }
}

@inline(never) private func faultFatalErrorAsPid1() {
  if opaque(0) == 0 {
    fatalError("the container has no price list")  // fault: fatal-error-as-pid-1
  }
}
