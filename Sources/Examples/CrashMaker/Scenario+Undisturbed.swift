// Programs whose signals and privileges the shield's threads must not disturb. The functions are in CCrashMaker.
internal import CCrashMaker
internal import Glibc

extension Scenario {
  private static let crashSignals: [(name: String, number: Int32)] = [
    ("SEGV", SIGSEGV), ("BUS", SIGBUS), ("ABRT", SIGABRT), ("ILL", SIGILL), ("TRAP", SIGTRAP), ("FPE", SIGFPE),
    ("SYS", SIGSYS),
  ]

  static let undisturbed =
    crashSignals.map { signal in
      awaited("sigwait-\(signal.name)", signal.number, "wait for SIG\(signal.name), which is sent") {
        cs_fault_sigwait(signal.number)
      }
    }
    + crashSignals.map { signal in
      awaited("signalfd-\(signal.name)", signal.number, "read SIG\(signal.name), which is sent, from a descriptor") {
        cs_fault_signalfd(signal.number)
      }
    } + [
      c("setxid", "", "become another user with all capabilities, then lose the groups", cs_fault_setxid).unseen()
        .with { $0.needsRoot = true },
      c("userns", "", "enter a user namespace", cs_fault_userns).unseen(),
    ]

  /// A program in which all threads block the signal, and one thread waits for it by `sigwait` or a signalfd.
  ///
  /// When the waiting thread receives the signal, the program exits with 20 plus the signal number.
  private static func awaited(
    _ name: String, _ signal: Int32, _ summary: String, _ send: @escaping @Sendable () -> Void
  ) -> Scenario {
    Scenario(name, "", "", summary: summary, send).unseen().with {
      $0.exitCode = 20 + signal
      $0.prepare = { cs_prepare_awaited_signal(signal) }
    }
  }

  private func unseen() -> Scenario {
    with {
      $0.isUndisturbed = true
      $0.silence = "nothing crashes"
      $0.threads = [.main]
    }
  }
}
