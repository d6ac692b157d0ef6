import Glibc

/// A set of signals, for blocking them.
struct SignalSet {
  var value = sigset_t()

  init(_ signals: [Int32] = []) {
    // The pointers are used during the calls only.
    unsafe sigemptyset(&value)
    for signal in signals { unsafe sigaddset(&value, signal) }
  }

  /// Blocks these signals too; returns what was blocked before.
  func block() -> SignalSet { change(SIG_BLOCK) }

  /// Blocks exactly these signals.
  func install() { _ = change(SIG_SETMASK) }

  private func change(_ how: Int32) -> SignalSet {
    var old = SignalSet()
    // Both pointers are used during the call only; it fails for an unknown `how` alone.
    _ = unsafe withUnsafePointer(to: value) { unsafe pthread_sigmask(how, $0, &old.value) }
    return old
  }

  /// One of these signals that came while it was blocked.
  func pending() -> Int32? {
    var waiting = SignalSet()
    // The pointers are used during the calls only.
    unsafe sigpending(&waiting.value)
    return (1..<32).first { signal in
      unsafe withUnsafePointer(to: value) { unsafe sigismember($0, signal) == 1 }
        && withUnsafePointer(to: waiting.value) { unsafe sigismember($0, signal) == 1 }
    }
  }

  /// The next of these signals, which are blocked, and whether a process sent it, not the kernel or the terminal.
  func next() -> (signal: Int32, isSent: Bool) {
    while true {
      var information = unsafe siginfo_t()
      // Both pointers are used during the call only.
      let signal = unsafe withUnsafePointer(to: value) { unsafe sigwaitinfo($0, &information) }
      // A signal number below 0 is an interruption by a signal outside of the set.
      if signal > 0 { return (signal, unsafe information.si_code <= 0) }
    }
  }
}
