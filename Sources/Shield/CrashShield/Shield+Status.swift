import CShim
import Synchronization

extension Shield {
  /// The state of the shield in this process, for a health check.
  public struct Status: Sendable, Equatable {
    /// Whether the shield records crashes of this process.
    public var isStarted: Bool
    /// The reason why the latest call of `start` or `startOrThrow` failed; nil if it succeeded.
    public var startError: StartError?
    /// The state of the connection to crashd; nil until it is known.
    public var connection: Connection?
    /// Crash signals whose handler the program or a library replaced after the start of the shield.
    ///
    /// The keys are the numbers of the signals, such as `SIGSEGV`. The shield records a crash by one of these signals
    /// only if the new handler calls the previous handler.
    public var replacedHandlers: [Int32: ReplacedHandler]
    /// Whether the crash handler finds the request of a task (`withRequest`); nil until it is known.
    ///
    /// The first request in a task checks whether the handler can read the task's memory. The Swift runtime defines the
    /// layout of this memory, and a later version of Swift can change it. If the value is false, the reports of crashes
    /// in tasks do not name a request.
    public var findsRequests: Bool?
    /// The reason why this process cannot contain traps; nil if it can.
    ///
    /// Containment has to distinguish the code of the C library and the Swift runtime from the program's code. The
    /// distinction is impossible, for example, in an executable that links the C library statically. In this case,
    /// traps in `Shield.isolated` also end the process.
    ///
    /// Contained requests have further conditions. The pool of `Configuration.containment` needs a known version of the
    /// Swift runtime, and a global executor that no other library has replaced. If a condition is not met, a trap in
    /// `Shield.withContainedRequest` drains the process, or ends the process at once. An invalid `CRASHSHIELD_CONTAINMENT`
    /// switches only the containment of requests off.
    public var containmentObstacle: String?
  }

  /// The reaction of the process to a crash signal for which the shield's handler was replaced.
  public enum ReplacedHandler: Sendable, Equatable {
    /// A handler runs; `image` is the path of the image that contains it, if known.
    case handler(image: String?)
    /// The process ends, and the shield makes no record.
    case byDefault
    /// The process ignores the signal.
    case ignored
  }

  /// The state of the shield in this process, for a health check.
  ///
  /// Reading this property also checks for replaced signal handlers, and records them for later reports. May be called
  /// from any thread, and takes some microseconds.
  ///
  /// ```swift
  /// for (signal, handler) in Shield.status.replacedHandlers {
  ///   print("signal \(signal) is handled by \(handler) now")
  /// }
  /// ```
  public static var status: Status {
    Status(
      isStarted: isStarted, startError: lastStartError.withLock { $0 }, connection: Connection.last,
      replacedHandlers: replacedHandlers(), findsRequests: findsRequests,
      containmentObstacle: containmentObstacle)
  }

  fileprivate static var containmentObstacle: String? {
    if let refusal = containmentRefusal.withLock({ $0 }) { return refusal }
    // Invariant: the C strings are valid until the process ends.
    return unsafe (cs_shim_contained_obstacle() ?? cs_shim_containment_obstacle()).map { unsafe String(cString: $0) }
  }

  fileprivate static var findsRequests: Bool? {
    switch cs_shim_request_lookup() {
    case .CS_RING_REQUEST_LOOKUP_WORKS: true
    case .CS_RING_REQUEST_LOOKUP_REFUSED: false
    default: nil
    }
  }

  fileprivate static func replacedHandlers() -> [Int32: ReplacedHandler] {
    let none = unsafe cs_shim_replaced_handler()
    var handlers = unsafe [cs_shim_replaced_handler](repeating: none, count: Int(CS_SHIM_HANDLER_LIMIT))
    // Invariant: the array has as many entries as the C function can write.
    let count = unsafe cs_shim_replaced_handlers(&handlers)
    // Each signal occurs at most once, because the ring has one entry for each crash signal.
    return unsafe handlers.prefix(count).reduce(into: [:]) { unsafe $0[$1.signal] = replacedHandler($1) }
  }

  private static func replacedHandler(_ handler: cs_shim_replaced_handler) -> ReplacedHandler {
    switch unsafe handler.action {
    case .CS_SHIM_ACTION_DEFAULT: return .byDefault
    case .CS_SHIM_ACTION_IGNORED: return .ignored
    default:
      // Invariant: the loader keeps the name while the image is loaded, and an image that contains a handler stays
      // loaded.
      return unsafe .handler(image: handler.image.map { unsafe String(cString: $0) })
    }
  }
}

extension Shield.Status {
  /// The status after a change of the connection, which can happen before `start` has returned.
  init(connection: Shield.Connection) {
    self.init(
      isStarted: true, startError: nil, connection: connection, replacedHandlers: Shield.replacedHandlers(),
      findsRequests: Shield.findsRequests, containmentObstacle: Shield.containmentObstacle)
  }
}
