import Glibc

/// A set of signals that can be blocked.
struct SignalSet {
  var value = sigset_t()

  init(_ signals: [Int32] = []) {
    // Invariant: sigemptyset and sigaddset use the pointers only during the calls.
    unsafe sigemptyset(&value)
    for signal in signals { unsafe sigaddset(&value, signal) }
  }

  /// Blocks the signals of this set, in addition to the already blocked signals, and returns the previous signal mask.
  func block() -> SignalSet { change(SIG_BLOCK) }

  /// Sets the signal mask to exactly this set.
  func install() { _ = change(SIG_SETMASK) }

  private func change(_ how: Int32) -> SignalSet {
    var old = SignalSet()
    // Invariant: pthread_sigmask uses both pointers only during the call. The call fails only for an unknown `how`.
    _ = unsafe withUnsafePointer(to: value) { unsafe pthread_sigmask(how, $0, &old.value) }
    return old
  }

  /// Returns a pending signal of this set, which must be blocked, or nil if none is pending.
  func pending() -> Int32? {
    var waiting = SignalSet()
    // Invariant: sigpending and sigismember use the pointers only during the calls.
    unsafe sigpending(&waiting.value)
    return (1..<32).first { signal in
      unsafe withUnsafePointer(to: value) { unsafe sigismember($0, signal) == 1 }
        && withUnsafePointer(to: waiting.value) { unsafe sigismember($0, signal) == 1 }
    }
  }

  /// Waits for a signal of this set, which must be blocked.
  ///
  /// `isSent` is true if a process sent the signal. `isSent` is false if the kernel sent the signal, for example for a
  /// key of the terminal.
  func next() -> (signal: Int32, isSent: Bool) {
    while true {
      if let next = next(within: .seconds(3_600)) { return next }
    }
  }

  /// Waits for a signal of this set, and returns nil if none arrives within `limit`.
  ///
  /// Precondition: the signals of the set are blocked.
  func next(within limit: Duration) -> (signal: Int32, isSent: Bool)? {
    let end = ContinuousClock.now + limit
    while true {
      var information = unsafe siginfo_t()
      let (seconds, attoseconds) = max(.zero, ContinuousClock.now.duration(to: end)).components
      var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
      // Invariant: sigtimedwait uses the pointers only during the call.
      let signal = unsafe withUnsafePointer(to: value) { unsafe sigtimedwait($0, &information, &rest) }
      if signal > 0 { return (signal, unsafe information.si_code <= 0) }
      // EINTR means that a signal outside the set interrupted the wait, so wait again.
      if errno != EINTR { return nil }
    }
  }
}
