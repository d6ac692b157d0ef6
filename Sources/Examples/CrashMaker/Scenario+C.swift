// Crashes in C code. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let memory = [
    c("null-read", "SIGSEGV", "read through a null pointer", cs_fault_null_read),
    c("null-write", "SIGSEGV", "write through a null pointer", cs_fault_null_write),
    c("null-plus-offset", "SIGSEGV", "read a field through a null pointer", cs_fault_null_plus_offset),
    c("null-call", "SIGSEGV", "call a null function pointer", cs_fault_null_call),
    c("wild-read", "SIGSEGV", "read where nothing is mapped", cs_fault_wild_read),
    c("non-canonical", "SIGSEGV", "read at a non-canonical address", cs_fault_non_canonical),
    c("read-only-write", "SIGSEGV", "write to a page mapped for reading", cs_fault_read_only_write),
    c("no-exec-jump", "SIGSEGV", "call data", cs_fault_no_exec_jump),
    c("jump-to-odd-address", "SIGSEGV", "call where nothing is mapped", cs_fault_jump_to_odd_address),
    c("bus-truncated-mmap", "SIGBUS", "read a mapped file beyond its truncated end", cs_fault_bus_truncated_mmap),
  ]

  static let instructions = [
    c("undefined-instruction", "SIGILL", "execute an undefined instruction", cs_fault_undefined_instruction),
    c("privileged-instruction", "SIGSEGV", "execute an instruction of the kernel", cs_fault_privileged_instruction),
    c("builtin-trap", "SIGILL", "execute __builtin_trap()", cs_fault_builtin_trap),
    c("int3", "SIGTRAP", "execute a breakpoint", cs_fault_int3),
    c("float-divide", "SIGFPE", "divide by zero in the processor", cs_fault_float_divide),
    c("seccomp-sys", "SIGSYS", "make a system call that a filter forbids", cs_fault_seccomp_sys),
  ]

  static let aborts = [
    c("abort", "SIGABRT", "call abort()", cs_fault_abort),
    c("libc-assert", "SIGABRT", "fail an assert()", reason: "stock >= 0", cs_fault_libc_assert),
    c("double-free", "SIGABRT", "free a block twice", reason: "double free detected", cs_fault_double_free),
    c("free-invalid", "SIGABRT", "free the middle of a block", reason: "invalid pointer", cs_fault_free_invalid),
    c("raise", "SIGSEGV", "raise(SIGSEGV)", cs_fault_raise),
    c("kill-from-outside", "SIGSEGV", "get SIGSEGV from another process", cs_fault_kill_from_outside).toFirstThread(),
    c("kill-abort-from-outside", "SIGABRT", "get SIGABRT from another process", cs_fault_kill_abort_from_outside)
      .toFirstThread(),
    c("kill-ill-from-outside", "SIGILL", "get SIGILL from another process", cs_fault_kill_ill_from_outside)
      .toFirstThread(),
  ]

  /// Marks that the main thread crashes: the kernel delivers a signal for the whole process to the main thread,
  /// whichever thread sends the signal.
  private func toFirstThread() -> Scenario {
    with {
      $0.threads = [.main]
      $0.function = "kill_from_outside"
      $0.mark = ""
    }
  }

  /// Creates a scenario that calls the C function of the same name: `null-read` calls `cs_fault_null_read`.
  static func c(
    _ name: String, _ signal: String, _ summary: String, reason: String = "", function: String? = nil,
    _ fault: @escaping @Sendable @convention(c) () -> Void
  ) -> Scenario {
    let named = "cs_fault_" + String(name.map { $0 == "-" ? "_" : $0 })
    return Scenario(name, signal, function ?? named, reason: reason, summary: summary, { fault() })
  }
}

// Crashes in C++ code. The functions are in CCrashMaker.
extension Scenario {
  static let cxx = [
    c(
      "cxx-terminate", "SIGABRT", "throw an uncaught C++ exception", function: "stock_of",
      cs_fault_cxx_terminate
    ).with { $0.reason = "std::runtime_error: the warehouse is closed" },
    c(
      "cxx-throw-derived", "SIGABRT", "throw an exception with two base classes", function: "close_for",
      cs_fault_cxx_throw_derived
    ).with { $0.reason = ": closed on Sundays" },
    c("cxx-throw-int", "SIGABRT", "throw an uncaught int", function: "price_of", cs_fault_cxx_throw_int),
    c("noexcept-throw", "SIGABRT", "throw through a noexcept function", function: "order", cs_fault_noexcept_throw),
    c("pure-virtual", "SIGABRT", "call a pure virtual function", function: "fill", cs_fault_pure_virtual),
    c(
      "sent-abort-in-new", "SIGABRT", "get SIGABRT in operator new, while an exception is handled",
      function: "send_abort", cs_fault_sent_abort_in_new
    ).with { $0.threads = [.main] },
    c("static-destructor", "SIGSEGV", "crash in a static destructor", function: "Receipt", cs_fault_static_destructor),
  ]
}
