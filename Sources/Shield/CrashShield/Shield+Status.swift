import CShim
import Synchronization

extension Shield {
  /// The state of the shield in this process, for a health check.
  public struct Status: Sendable, Equatable {
    /// Whether crashes of this process are recorded.
    public var isStarted: Bool
    /// The reason why the latest call of `start` or `startOrThrow` failed; nil if it succeeded.
    public var startError: StartError?
    /// The state of the connection to crashd; nil until it is known.
    public var connection: Connection?
    /// Crash signals whose handler the program or a library replaced after the start of the shield.
    ///
    /// The shield records a crash by such a signal only where the new handler calls the handler that was there before it.
    public var replacedHandlers: [ReplacedHandler]
  }

  /// The action of a crash signal that replaced the shield's handler.
  public struct ReplacedHandler: Sendable, Equatable {
    /// The number of the signal, such as `SIGSEGV`'s.
    public var signal: Int32
    /// The new action.
    public var action: Action

    /// The action of a process at a signal.
    public enum Action: Sendable, Equatable {
      /// Calls a handler, in the image at that path if known.
      case handler(image: String?)
      /// Ends the process, without a record.
      case byDefault
      /// Ignores the signal.
      case ignored
    }
  }

  /// The state of the shield in this process, for a health check.
  ///
  /// Checks for replaced signal handlers, and writes them to the ring, so that a report shows them too. Any thread;
  /// some microseconds.
  ///
  /// ```swift
  /// for handler in Shield.status.replacedHandlers {
  ///   print("signal \(handler.signal) is handled by \(handler.action) now")
  /// }
  /// ```
  public static var status: Status {
    Status(
      isStarted: isStarted, startError: lastStartError.withLock { $0 }, connection: Connection.last,
      replacedHandlers: replacedHandlers())
  }

  fileprivate static func replacedHandlers() -> [ReplacedHandler] {
    let none = unsafe cs_shim_replaced_handler()
    var handlers = unsafe [cs_shim_replaced_handler](repeating: none, count: Int(CS_SHIM_HANDLER_LIMIT))
    // The array has as many entries as C may write.
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
      // The loader keeps the name as long as the image, and the image stays because it contains a handler.
      return unsafe .handler(image: handler.image.map { unsafe String(cString: $0) })
    }
  }
}

extension Shield.Status {
  /// The status at a change of the connection, which may come before `start` has returned.
  init(connection: Shield.Connection) {
    self.init(
      isStarted: true, startError: nil, connection: connection, replacedHandlers: Shield.replacedHandlers())
  }
}
