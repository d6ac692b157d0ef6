import CShim

extension Shield {
  /// How this process stands with crashd.
  ///
  /// Crashes are kept in each case.
  public enum Status: Sendable, Equatable {
    /// crashd holds the ring and wakes up at a crash.
    case attached
    /// There is no crashd; the text says why. Crashes go to the spool, and the shield retries.
    case unreachable(String)
    /// crashd does not want this process; the text says why. Crashes go to the spool, and the shield does not retry.
    case refused(String)
  }
}

/// What the callback gets as its context: a closure needs a box to travel through a C pointer.
final class StatusObserver: Sendable {
  let onStatus: @Sendable (Shield.Status) -> Void

  init(_ onStatus: @escaping @Sendable (Shield.Status) -> Void) { self.onStatus = onStatus }
}

/// The C function behind `Configuration.onStatus`.
let reportStatus: cs_shim_status_function = { context, status, text in
  guard let context = unsafe context else { return }
  // `start` retained the observer for as long as the process lives.
  let observer = unsafe Unmanaged<StatusObserver>.fromOpaque(context).takeUnretainedValue()
  // `text` is a valid C string during this call, or null.
  let text = unsafe text.map { unsafe String(cString: $0) } ?? ""
  switch status {
  case .CS_SHIM_STATUS_ATTACHED: observer.onStatus(.attached)
  case .CS_SHIM_STATUS_REFUSED: observer.onStatus(.refused(text))
  default: observer.onStatus(.unreachable(text))
  }
}
