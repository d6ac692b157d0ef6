import CShim

extension Shield {
  /// The settings of a start; each one that is nil comes from the environment, then from the default.
  ///
  /// The environment takes precedence for the name, the release and the environment, which a deployment sets, and for
  /// `CRASHSHIELD_DISABLE`. An explicit value of another setting takes precedence over the environment.
  public struct Configuration: Sendable {
    /// crashd's attach socket: `CRASHSHIELD_SOCKET`; else `/run/crashd/attach`, else `$XDG_RUNTIME_DIR/crashd/attach`.
    ///
    /// The last one applies only if the directory belongs to the effective user and others cannot write to it.
    /// Whichever applies, the process attaches only to the crashd of root, of the owner of `/run/crashd`, or of its own
    /// user.
    public var socket: String?
    /// The directory for crashes while crashd is unreachable: `CRASHSHIELD_SPOOL`; else `spool` beside the socket.
    public var spool: String?
    /// The process's name in reports, unless `CRASHSHIELD_NAME` is set; else the last component of the executable's path.
    public var name: String?
    /// The memory contents that a report keeps: `CRASHSHIELD_MEMORY` (`none`, `scrubbed`, `full`); else `scrubbed`.
    ///
    /// crashd's setting `privacy.no-memory` takes precedence: with it, reports keep no memory contents.
    public var memory: Memory?
    /// Tags that the start sets, as `Shield.setTag` does, unless `CRASHSHIELD_RELEASE` or `CRASHSHIELD_ENVIRONMENT` sets
    /// the tag `release` or `environment`.
    public var tags: [String: String]
    /// Whether crashd may control this process: `CRASHSHIELD_CONTROL`, where `0` disables it; else it may.
    ///
    /// crashd can protect and release classes, set the quarantine's budget, set guard modes, and exclude memory contents
    /// from records.
    ///
    /// crashd does so when an operator asks for it (`crashctl dangling`, `crashctl guards`, `privacy.no-memory`). It
    /// protects classes automatically only where an operator has enabled that. Without remote control, crashd discards
    /// the memory contents itself when `privacy.no-memory` is set.
    public var allowsRemoteControl: Bool?
    /// Called with the status for each change of the connection to crashd, on a thread of the shield, and for a failure
    /// of `start`, on its caller's.
    ///
    /// It must not block: until it returns, the thread of the shield neither retries nor makes the next call.
    public var onStatusChange: (@Sendable (Status) -> Void)?

    /// The contents that a report keeps of the crashing thread's stack and of the memory around the registers'
    /// pointers.
    ///
    /// The runtime error message (`Fatal error: …`), tags and breadcrumbs are kept in any case.
    public enum Memory: Sendable, Equatable {
      /// Nothing: only the process itself can unwind its stacks, and the report cannot identify dangling pointers.
      case omitted
      /// All but text: each run of at least four bytes of UTF-8 is overwritten.
      case scrubbed
      /// Everything.
      case full
    }

    /// Whether each forked child starts the shield like its parent, before `fork` returns: `CRASHSHIELD_FORK=1`.
    ///
    /// Costs each child about a millisecond and two threads, also a child that only calls `exec`. Where few children
    /// matter, let those call `Shield.startInForkedChild()` instead.
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
  /// Rejects texts with a NUL, at which C would silently cut them.
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
    // Every pointer taken here is used within the closures that lend it.
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

/// A nil string is a null pointer.
private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
  guard let text else { return body(nil) }
  return unsafe text.withCString(body)
}
