import CShim

extension Shield {
  /// The state of the shield in this process, for a health check.
  public struct Status: Sendable, Equatable {
    /// Whether crashes of this process are recorded.
    public var isStarted: Bool
    /// The state of the connection to crashd; nil until it is known.
    public var connection: Connection?
    /// Crash signals whose handler the program or a library replaced after the start of the shield.
    ///
    /// The shield records a crash by such a signal only where the new handler calls the handler that was there before it.
    public var replacedHandlers: [ReplacedHandler]
  }

  /// The action of a crash signal that replaced the shield's handler.
  public struct ReplacedHandler: Sendable, Equatable {
    /// Such as `SIGSEGV`'s number.
    public var signal: Int32
    /// What the process does at the signal.
    public var action: Action

    /// What a process does at a signal.
    public enum Action: Sendable, Equatable {
      /// Calls a handler, in the image of that path where it is known.
      case handler(image: String?)
      /// Ends, without a record.
      case byDefault
      /// Nothing.
      case ignored
    }
  }

  /// The state of the shield in this process, for a health check.
  ///
  /// Checks for replaced signal handlers, and writes what it finds to the ring, so that a report shows it
  /// too. Any thread; some microseconds.
  ///
  /// ```swift
  /// for handler in Shield.status.replacedHandlers {
  ///   print("signal \(handler.signal) is handled by \(handler.action) now")
  /// }
  /// ```
  public static var status: Status {
    Status(isStarted: isStarted, connection: Connection.last, replacedHandlers: replacedHandlers())
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
