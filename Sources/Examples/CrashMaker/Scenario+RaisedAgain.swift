// Crashes whose signal a handler of the program's raises again; the functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let raisedAgain = [
    c("reraise-segv", "SIGSEGV", "raise SIGSEGV again in a handler", cs_fault_reraise_segv).aboutFirstFault(),
    c(
      "reraise-pending", "SIGSEGV", "the same, with the signal blocked until the handler returns",
      cs_fault_reraise_pending
    )
    .aboutFirstFault(),
    c(
      "reraise-overflow", "SIGSEGV", "raise the signal of a stack overflow again", function: "descend_again",
      cs_fault_reraise_overflow
    ).withoutLine().aboutFirstFault(),
    c("reraise-trap", "SIGILL", "raise the signal of a trap again", cs_fault_reraise_trap).aboutFirstFault(),
  ]

  private func aboutFirstFault() -> Scenario {
    with { $0.withoutDebugger = "the report is about the first fault, gdb about the signal that was raised again" }
  }
}
