import CShim

extension Shield {
  /// What `start` may be told; each part that is nil comes from the environment, then from the default.
  ///
  /// An explicit value wins over the environment, except `CRASHSHIELD_DISABLE`, on which the operator must be able to
  /// rely.
  public struct Configuration: Sendable {
    /// crashd's attach socket: `CRASHSHIELD_SOCKET`; else `/run/crashd/attach`, else `$XDG_RUNTIME_DIR/crashd/attach`.
    ///
    /// The last one counts where that directory belongs to the effective user and others cannot write into it. Whichever
    /// it is: the process attaches only to root's crashd, to that of the owner of `/run/crashd`, and to its own user's.
    public var socket: String?
    /// Where a crash without crashd is left: `CRASHSHIELD_SPOOL`; else the directory `spool` beside the socket.
    public var spool: String?
    /// What the report calls the process: `CRASHSHIELD_NAME`; else the last component of the executable's path.
    public var name: String?
    /// What a report keeps of the program's memory: `CRASHSHIELD_MEMORY` (`none`, `scrubbed`, `full`); else `scrubbed`.
    ///
    /// crashd's settings (`privacy.no-memory`) may say that nothing is kept; that is stronger.
    public var memory: Memory?
    /// Set by `Shield.annotate` as soon as the shield has started.
    public var annotations: [String: String]
    /// Whether crashd may protect classes of this process, release them, say how much memory that takes, set the modes
    /// of guards, and have records keep nothing of the memory: `CRASHSHIELD_CONTROL` (`0` forbids it); else it may.
    ///
    /// crashd does so where an operator asks for it (`crashctl dangling`, `crashctl guards`, `privacy.no-memory`), or has
    /// allowed crashd to do the first by itself. Where it may not, crashd itself throws away what an operator wants nobody
    /// to keep.
    public var allowsRemoteControl: Bool?
    /// Called once for each change of the connection to crashd, on a thread of the shield's own.
    ///
    /// It must not block: meanwhile the thread neither retries nor makes the next call.
    public var onConnectionChange: (@Sendable (Connection) -> Void)?

    /// What a report keeps of the crashed thread's stack, and of the words around what its registers point at.
    ///
    /// What the runtime says of a crash (`Fatal error: …`) is kept in any case, and so are annotations and breadcrumbs.
    public enum Memory: Sendable, Equatable {
      /// Nothing: stacks can only be walked in the process, and no dangling pointer is told from others.
      case omitted
      /// All but texts: each run of at least four bytes that read as UTF-8 is overwritten.
      case scrubbed
      /// All.
      case full
    }

    /// Whether each forked child starts the shield like its parent, before `fork` returns: `CRASHSHIELD_FORK=1`.
    ///
    /// Costs each child about a millisecond and two threads, also one that only becomes another program; where few of
    /// the children crash by themselves, have those call `Shield.startInForkedChild()`.
    public var reattachesForkedChildren = false

    /// Makes a configuration; without arguments it is what the environment says.
    public init(
      socket: String? = nil, spool: String? = nil, name: String? = nil, memory: Memory? = nil,
      annotations: [String: String] = [:], onConnectionChange: (@Sendable (Connection) -> Void)? = nil
    ) {
      self.socket = socket
      self.spool = spool
      self.name = name
      self.memory = memory
      self.annotations = annotations
      self.onConnectionChange = onConnectionChange
    }
  }
}

extension Shield.Configuration {
  /// C would silently cut a text at its first NUL.
  func checkTexts() throws(Shield.StartError) {
    for (label, text) in [("socket", socket), ("spool", spool), ("name", name)]
    where text?.utf8.contains(0) == true {
      throw .badArgument("\(label) contains a NUL")
    }
  }

  /// Lends the configuration to C for one call.
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
