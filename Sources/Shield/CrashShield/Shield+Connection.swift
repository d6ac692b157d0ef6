import CShim

extension Shield {
  /// The state of the connection to crashd.
  ///
  /// The shield records crashes in each of these states.
  public enum Connection: Sendable, Equatable {
    /// crashd has accepted the process's ring and reads it after a crash.
    case attached
    /// The shield cannot reach crashd, for the given reason.
    ///
    /// Crashes go to the spool directory, and the shield retries with back-off.
    case unreachable(String)
    /// crashd refused this process, for the given reason.
    ///
    /// Crashes go to the spool directory, and the shield does not retry.
    case refused(String)
  }
}

extension Shield.Connection {
  init(_ status: cs_shim_status, reason: String) {
    switch status {
    case .CS_SHIM_STATUS_ATTACHED: self = .attached
    case .CS_SHIM_STATUS_REFUSED: self = .refused(reason)
    default: self = .unreachable(reason)
    }
  }

  /// The latest state; nil until the first state is known.
  static var last: Self? {
    var status = cs_shim_status.CS_SHIM_STATUS_ATTACHED
    // Invariant: the C code either fills the buffer with a NUL-terminated string, or changes neither the buffer nor the
    // status.
    let text = unsafe [CChar](unsafeUninitializedCapacity: Int(CS_SHIM_STATUS_TEXT_BYTES)) { buffer, count in
      if unsafe cs_shim_last_status(&status, buffer.baseAddress) { count = buffer.count }
    }
    guard !text.isEmpty else { return nil }
    return Self(status, reason: String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }
}

/// The object that the C callback receives as its context, because a C pointer cannot carry a closure.
final class StatusObserver: Sendable {
  let onChange: @Sendable (Shield.Status) -> Void

  init(_ onChange: @escaping @Sendable (Shield.Status) -> Void) { self.onChange = onChange }
}

/// The function that the C code calls, which calls `Configuration.onStatusChange`.
let reportConnection: cs_shim_status_function = { context, status, text in
  guard let context = unsafe context else { return }
  // Invariant: `start` retained the observer, and no code releases it while the process runs.
  let observer = unsafe Unmanaged<StatusObserver>.fromOpaque(context).takeUnretainedValue()
  // Invariant: `text` is null or a C string that is valid during this call.
  let reason = unsafe text.map { unsafe String(cString: $0) } ?? ""
  observer.onChange(Shield.Status(connection: Shield.Connection(status, reason: reason)))
}
