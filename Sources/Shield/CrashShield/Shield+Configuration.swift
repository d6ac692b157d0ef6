import CShim

extension Shield {
  /// The settings for `Shield.start`.
  ///
  /// If a setting is nil, its environment variable applies; if the variable is not set either, the default applies.
  ///
  /// For the name, the release, the environment and the mode of containment, the environment variable takes precedence
  /// over the program's value, because a deployment sets these variables. For every other setting, an explicit value
  /// takes precedence over the environment variable. `CRASHSHIELD_DISABLE` takes precedence over all settings.
  public struct Configuration: Sendable {
    /// The path of crashd's attach socket; the default is `CRASHSHIELD_SOCKET`, else `/run/crashd/attach`, else
    /// `$XDG_RUNTIME_DIR/crashd/attach`.
    ///
    /// The path below `$XDG_RUNTIME_DIR` applies only if the directory belongs to the effective user and other users
    /// cannot write to it. The process attaches only to a crashd that runs as root, as the owner of `/run/crashd`, or
    /// as the process's own user.
    public var socket: String?
    /// The directory for crashes while crashd is unreachable; the default is `CRASHSHIELD_SPOOL`, else `spool` next to
    /// the socket.
    public var spool: String?
    /// The process's name in reports; `CRASHSHIELD_NAME` takes precedence, and the default is the last component of the
    /// executable's path.
    public var name: String?
    /// The memory contents that a report keeps; the default is `CRASHSHIELD_MEMORY` (`none`, `scrubbed` or `full`),
    /// else `scrubbed`.
    ///
    /// crashd's setting `privacy.no-memory` takes precedence: if it is set, reports do not keep memory contents.
    public var memory: Memory?
    /// Tags that `Shield.start` sets, as `Shield.setTag` does.
    ///
    /// `CRASHSHIELD_RELEASE` and `CRASHSHIELD_ENVIRONMENT` take precedence over the tags `release` and `environment`.
    public var tags: [String: String]
    /// Whether crashd is allowed to control this process; the default is true, unless `CRASHSHIELD_CONTROL` is `0`.
    ///
    /// With remote control, crashd can protect and release classes, set the quarantine's budget, set guard modes, and
    /// exclude memory contents from records.
    ///
    /// crashd sends these changes when an operator requests them (`crashctl dangling`, `crashctl guards`,
    /// `privacy.no-memory`). crashd protects classes automatically only where an operator has enabled automatic
    /// protection. Without remote control, crashd itself discards the memory contents of records when
    /// `privacy.no-memory` is set.
    public var allowsRemoteControl: Bool?
    /// Called with the status after each change of the connection to crashd, and after a failure of `start`.
    ///
    /// A thread of the shield makes the calls about the connection. The thread that calls `start` makes the call about
    /// its failure.
    ///
    /// The closure must not block: until the closure returns, the thread of the shield neither retries the connection
    /// nor reports the next change.
    public var onStatusChange: (@Sendable (Status) -> Void)?
    /// The mode of containment: what a Swift trap in a contained request ends; the default is `off` (a trap ends the
    /// process).
    ///
    /// `CRASHSHIELD_CONTAINMENT` (`off`, `drain` or `contain:N`) takes precedence. If the variable changes the mode,
    /// the durations `grace` and `stall` of this value still apply.
    public var containment = Containment.off
    /// Called once when a drain begins: the server must stop accepting connections, and start its orderly shutdown.
    ///
    /// A thread of the shield makes the call. The closure must not wait for the requests in flight, because the shield
    /// cannot answer further requests until the closure returns. The closure is allowed to create a task.
    public var onDrain: (@Sendable () -> Void)?

    /// How much a report keeps of the crashing thread's stack, and of the memory to which the registers point.
    ///
    /// A report always keeps the runtime error message (`Fatal error: …`), tags and breadcrumbs.
    public enum Memory: Sendable, Equatable {
      /// The report keeps no memory contents. Therefore crashd cannot repeat the unwinding of the stacks, and the
      /// report cannot identify dangling pointers.
      case omitted
      /// The report keeps all memory contents except strings: each run of at least four bytes of UTF-8 is overwritten.
      case scrubbed
      /// The report keeps all memory contents, including strings.
      case full
    }

    /// Whether each forked child starts the shield with its parent's settings before `fork` returns; the default is
    /// false, unless `CRASHSHIELD_FORK` is `1`.
    ///
    /// Starting the shield costs each child about a millisecond and two threads, even a child that only calls `exec`.
    /// Where the crashes of only a few children matter, let these children call `Shield.startInForkedChild()` instead.
    public var reattachesForkedChildren = false

    /// Creates a configuration; without arguments, all settings come from the environment.
    ///
    /// `release`, the build such as `shop@1.4.2`, and `environment`, the deployment such as `production`, become tags.
    public init(
      socket: String? = nil, spool: String? = nil, name: String? = nil, release: String? = nil,
      environment: String? = nil, memory: Memory? = nil, tags: [String: String] = [:],
      onStatusChange: (@Sendable (Status) -> Void)? = nil
    ) {
      self.socket = socket
      self.spool = spool
      self.name = name
      self.memory = memory
      self.tags = tags
      if let release { self.tags["release"] = release }
      if let environment { self.tags["environment"] = environment }
      self.onStatusChange = onStatusChange
    }
  }
}

extension Shield.Configuration {
  /// Rejects strings that contain a NUL, because C code would silently cut them at the NUL.
  func checkTexts() throws(Shield.StartError) {
    for (label, text) in [("socket", socket), ("spool", spool), ("name", name)]
    where text?.utf8.contains(0) == true {
      throw .badArgument("\(label) contains a NUL")
    }
  }

  /// Calls `body` with the configuration as a C structure.
  func withCConfiguration<Result>(
    context: UnsafeMutableRawPointer?, _ body: (UnsafePointer<cs_shim_configuration>) -> Result
  ) -> Result {
    // Invariant: each pointer is used only inside the closure that receives it.
    unsafe withOptionalCString(socket) { socket in
      unsafe withOptionalCString(spool) { spool in
        unsafe withOptionalCString(name) { name in
          var c = unsafe cs_shim_configuration()
          unsafe c.socket_path = socket
          unsafe c.spool_directory = spool
          unsafe c.name = name
          unsafe c.memory = memory.cValue
          unsafe c.control_function = obeyControl
          if let allowsRemoteControl {
            unsafe c.remote = allowsRemoteControl ? .CS_SHIM_REMOTE_ALLOWED : .CS_SHIM_REMOTE_FORBIDDEN
          }
          if unsafe context != nil {
            unsafe c.status_function = reportConnection
            unsafe c.status_context = context
          }
          unsafe c.reattaches_forked_children = reattachesForkedChildren
          return unsafe withUnsafePointer(to: c, body)
        }
      }
    }
  }
}

extension Shield.Configuration.Memory? {
  fileprivate var cValue: cs_shim_memory {
    switch self {
    case nil: .CS_SHIM_MEMORY_DEFAULT
    case .omitted: .CS_SHIM_MEMORY_NONE
    case .scrubbed: .CS_SHIM_MEMORY_SCRUBBED
    case .full: .CS_SHIM_MEMORY_FULL
    }
  }
}

/// Calls `body` with the string as a C string; nil becomes a null pointer.
private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
  guard let text else { return body(nil) }
  return unsafe text.withCString(body)
}
