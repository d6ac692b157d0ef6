// Crashes of programs that handle signals themselves. The functions are in CCrashMaker.
internal import CCrashMaker
internal import CShim
internal import CrashShield
internal import Glibc

extension Scenario {
  private static let ownHandler = "the program's own handler"

  static let handlers = [
    Scenario(
      "crash-in-our-handler", "SIGSEGV", "cs_fault_null_write", summary: "crash in the shield's own handler"
    ) {
      cs_testing_inject(.CS_INJECT_CRASH, cs_injection_point.CS_INJECT_REGISTERS.rawValue)
      cs_fault_null_write()
    }.with {
      $0.callsLibrary = true
      $0.mark = "null-write"
      $0.withoutDebugger = "the record of a crash in the handler is incomplete"
    },
    c(
      "crash-in-previous-handler", "SIGSEGV", "crash in the handler that was there before",
      cs_fault_crash_in_previous_handler
    )
    .with {
      $0.output = ownHandler
      $0.prepare = { cs_prepare_crash_in_previous_handler() }
    },
    Scenario(
      "crash-in-user-callback", "SIGSEGV", "cs_fault_null_write", summary: "crash in a callback of the shield",
      fault: .status { cs_fault_null_write() }
    ).with {
      $0.threads = [.main]
      $0.mark = "null-write"
    },
    c("handler-chained-before", "", "handle SIGSEGV since before the shield", cs_fault_handler_chained_before).with {
      $0.endsInHandler()
      $0.prepare = { cs_prepare_handler_chained_before() }
    },
    c("sa-onstack-missing", "", "handle SIGSEGV without SA_ONSTACK", cs_fault_sa_onstack_missing).with {
      $0.endsInHandler()
      $0.prepare = { cs_prepare_sa_onstack_missing() }
    },
    c(
      "handler-chained-after", "SIGSEGV", "handle SIGSEGV, then call the shield's handler",
      cs_fault_handler_chained_after
    )
    .with { $0.output = ownHandler },
    Scenario("handler-replaced", "", "", summary: "handle SIGSEGV in the shield's place", crashByReplacedHandler).with {
      $0.endsInHandler()
      $0.silence = "the program took the signal, as Shield.status says"
    },
    c("sigabrt-ignored", "SIGABRT", "call abort() with SIGABRT ignored", cs_fault_sigabrt_ignored).with {
      $0.prepare = { cs_prepare_sigabrt_ignored() }
    },
    c(
      "sigaltstack-owned-by-app", "SIGSEGV", "overflow the stack with an alternate stack of the program's",
      function: "descend", cs_fault_sigaltstack_owned_by_app
    ).withoutLine(),
    c("swift-backtrace-enabled", "SIGSEGV", "crash with Swift's own backtracer on", cs_fault_swift_backtrace_enabled)
      .with {
        $0.output = "Program crashed"
        $0.needsDynamicLibrary = true
        $0.environment = ["SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no,threads=crashed,limit=8"]
      },
  ]

  private mutating func endsInHandler() {
    reportedSignal = "SIGSEGV"
    output = Self.ownHandler
    exitCode = 3
  }
}

/// Crashes without a report, because the program has replaced the shield's handler.
///
/// Before the crash, `Shield.status` reports the replaced handler.
private func crashByReplacedHandler() {
  cs_prepare_handler_chained_before()
  let isNoticed = Shield.status.replacedHandlers.keys.elementsEqual([SIGSEGV])
  if Shield.isStarted && !isNoticed { exit(4) }
  cs_fault_null_write()
}

// Crashes in which a handler of the program catches the signal and re-raises it. The functions are in CCrashMaker.
extension Scenario {
  static let raisedAgain = [
    c("reraise-segv", "SIGSEGV", "raise SIGSEGV again in a handler", cs_fault_reraise_segv).aboutFirstFault(),
    c(
      "reraise-pending", "SIGSEGV", "raise SIGSEGV again, blocked until the handler returns",
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
    with { $0.withoutDebugger = "the report shows the first fault, but gdb shows the re-raised signal" }
  }
}
