import CShim

extension Shield {
  /// What a health check may want to know of the shield.
  public struct Overview: Sendable, Equatable {
    /// Whether crashes of this process are recorded.
    public var isStarted: Bool
    /// How the process stands with crashd; nil until that is known.
    ///
    /// The texts are those of `Configuration.onStatus`.
    public var connection: Connection?
    /// Crash signals that somebody took from the shield since its start.
    ///
    /// A crash by one of them is recorded only where the other handler calls the one that was there before it.
    public var replacedHandlers: [ReplacedHandler]
  }

  /// `Status` without its text.
  public enum Connection: Sendable, Equatable {
    /// crashd holds the ring.
    case attached
    /// There is no crashd.
    case unreachable
    /// crashd does not want this process.
    case refused
  }

  /// Who handles a crash signal in place of the shield.
  public struct ReplacedHandler: Sendable, Equatable {
    /// Such as `SIGSEGV`'s number.
    public var signal: Int32
    /// What stands there.
    public var action: Action

    /// What a signal does.
    public enum Action: Sendable, Equatable {
      /// A handler, in the image of that path where it is known.
      case handler(image: String?)
      /// The default action: the process ends, without a record.
      case byDefault
      /// Nothing.
      case ignored
    }
  }

  /// How the shield stands, for a health check.
  ///
  /// Looks whether somebody has replaced its signal handlers, and leaves that in the ring, so that a report tells it
  /// too. Any thread; some microseconds.
  ///
  /// ```swift
  /// for handler in Shield.status.replacedHandlers {
  ///   print("signal \(handler.signal) is handled by \(handler.action) now")
  /// }
  /// ```
  public static var status: Overview {
    var connection = cs_shim_status.CS_SHIM_STATUS_ATTACHED
    // Written during the call.
    let isKnown = unsafe cs_shim_last_status(&connection)
    return Overview(
      isStarted: isStarted, connection: isKnown ? Connection(connection) : nil, replacedHandlers: replacedHandlers())
  }

  private static func replacedHandlers() -> [ReplacedHandler] {
    let none = unsafe cs_shim_replaced_handler()
    var handlers = unsafe [cs_shim_replaced_handler](repeating: none, count: Int(CS_SHIM_HANDLER_LIMIT))
    // The array has as many places as C may write.
    let count = unsafe cs_shim_replaced_handlers(&handlers)
    return unsafe handlers.prefix(count).map { handler in
      unsafe ReplacedHandler(signal: handler.signal, action: action(handler))
    }
  }

  private static func action(_ handler: cs_shim_replaced_handler) -> ReplacedHandler.Action {
    switch unsafe handler.action {
    case .CS_SHIM_ACTION_DEFAULT: return .byDefault
    case .CS_SHIM_ACTION_IGNORED: return .ignored
    default:
      // The loader keeps the name as long as the image, which holds a handler of this process.
      return unsafe .handler(image: handler.image.map { unsafe String(cString: $0) })
    }
  }
}

extension Shield.Connection {
  init(_ status: cs_shim_status) {
    switch status {
    case .CS_SHIM_STATUS_ATTACHED: self = .attached
    case .CS_SHIM_STATUS_REFUSED: self = .refused
    default: self = .unreachable
    }
  }
}
