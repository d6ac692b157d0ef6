/// The names of signals, and of their `si_code` values, on Linux for x86-64 and AArch64.
public enum SignalNames: Sendable {
  /// Returns the name of a signal: `SIGILL`, `SIGRTMIN+2` for a real-time signal, or `signal 99` for an invalid number.
  public static func name(of signal: Int) -> String {
    if let name = names[signal] { return name }
    // The real-time signals begin with 34, because glibc reserves 32 and 33. The largest signal number is 64.
    if (34...64).contains(signal) { return signal == 34 ? "SIGRTMIN" : "SIGRTMIN+\(signal - 34)" }
    return "signal \(signal)"
  }

  /// Returns a name such as `SEGV_MAPERR` or `SI_USER`.
  ///
  /// If the code has no name, returns its number.
  public static func codeName(of code: Int, signal: Int) -> String {
    generalCodes[code] ?? codes[signal]?[code] ?? String(code)
  }

  private static let names: [Int: String] = [
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU",
    23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO",
    30: "SIGPWR", 31: "SIGSYS",
  ]

  /// The codes that every signal can have; they describe how the signal was sent.
  private static let generalCodes: [Int: String] = [
    0: "SI_USER", 0x80: "SI_KERNEL", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO",
    -5: "SI_SIGIO", -6: "SI_TKILL", -7: "SI_DETHREAD", -60: "SI_ASYNCNL",
  ]

  private static let codes: [Int: [Int: String]] = [
    4: [
      1: "ILL_ILLOPC", 2: "ILL_ILLOPN", 3: "ILL_ILLADR", 4: "ILL_ILLTRP", 5: "ILL_PRVOPC", 6: "ILL_PRVREG",
      7: "ILL_COPROC", 8: "ILL_BADSTK",
    ],
    5: [
      1: "TRAP_BRKPT", 2: "TRAP_TRACE", 3: "TRAP_BRANCH", 4: "TRAP_HWBKPT", 5: "TRAP_UNK", 6: "TRAP_PERF",
    ],
    7: [1: "BUS_ADRALN", 2: "BUS_ADRERR", 3: "BUS_OBJERR", 4: "BUS_MCEERR_AR", 5: "BUS_MCEERR_AO"],
    8: [
      1: "FPE_INTDIV", 2: "FPE_INTOVF", 3: "FPE_FLTDIV", 4: "FPE_FLTOVF", 5: "FPE_FLTUND", 6: "FPE_FLTRES",
      7: "FPE_FLTINV", 8: "FPE_FLTSUB", 14: "FPE_FLTUNK", 15: "FPE_CONDTRAP",
    ],
    11: [
      1: "SEGV_MAPERR", 2: "SEGV_ACCERR", 3: "SEGV_BNDERR", 4: "SEGV_PKUERR", 5: "SEGV_ACCADI",
      6: "SEGV_ADIDERR", 7: "SEGV_ADIPERR", 8: "SEGV_MTEAERR", 9: "SEGV_MTESERR", 10: "SEGV_CPERR",
    ],
    31: [1: "SYS_SECCOMP", 2: "SYS_USER_DISPATCH"],
  ]
}
