// Crashes while a thread holds a lock that an unsafe handler would acquire. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let locks = [
    c(
      "loader-lock-held-by-other", "SIGSEGV", "crash while another thread holds the loader's lock",
      cs_fault_loader_lock_held_by_other),
    c(
      "inside-dl-iterate-callback", "SIGSEGV", "crash in a callback of dl_iterate_phdr",
      function: "cs_fault_in_callback", cs_fault_inside_dl_iterate_callback),
    c("malloc-lock-held", "SIGSEGV", "crash while another thread holds the heap's lock", cs_fault_malloc_lock_held)
      .with {
        $0.withoutDebugger = "under gdb the thread stops at another instruction"
        $0.prepare = { cs_prepare_malloc_lock_held() }
      },
    c(
      "atfork-lock-held", "SIGSEGV", "crash in a handler that fork() calls", function: "cs_fault_prepare",
      cs_fault_atfork_lock_held),
    c("stdio-lock-held", "SIGSEGV", "crash while another thread holds stdio's locks", cs_fault_stdio_lock_held),
    c(
      "inside-stdio", "SIGSEGV", "crash while this thread holds stdio's locks", function: "cs_fault_write_cookie",
      cs_fault_inside_stdio),
    c("inside-setxid", "SIGABRT", "be ended while this thread changes the group id", cs_fault_inside_setxid),
    c(
      "fork-lock-held-by-other", "SIGSEGV", "crash while another thread hangs in a handler that fork() calls",
      cs_fault_fork_lock_held_by_other),
    c("thread-list-lock", "SIGSEGV", "crash while another thread holds the list of threads", cs_fault_thread_list_lock),
  ]

  static let loader =
    [
      c(
        "crash-during-exit", "SIGSEGV", "crash in a function that exit() calls", function: "cs_fault_at_exit",
        cs_fault_crash_during_exit),
      c("before-main", "SIGSEGV", "crash in a constructor, before main()", function: "cs_fault_before_main", {}).with {
        $0.threads = [.main]
        $0.withoutDebugger = "the program executes itself again, with `CRASHSHIELD_EARLY=1`"
        $0.environment = ["CRASHSHIELD_EARLY": "1"]
      },
    ] + made

  private static let made = [
    c(
      "during-dlopen-constructor", "SIGSEGV", "crash in the constructor of a library that is being loaded",
      function: "cs_fault_in_constructor", cs_fault_during_dlopen_constructor
    ).with { $0.withoutDebugger = "the library has no unwind information, and gdb shows an extra frame" },
    c("after-dlclose", "SIGSEGV", "call a function of an unloaded library", cs_fault_after_dlclose),
  ]
}
