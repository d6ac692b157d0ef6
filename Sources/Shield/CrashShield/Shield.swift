import CShim

/// Reports the crashes of this process to crashd.
///
/// A server adds one line near the start of `main`:
///
/// ```swift
/// import CrashShield
///
/// try Shield.start()
/// ```
///
/// From then on the shield writes a fatal signal of any thread to memory shared with crashd. The process dies as it
/// would without the shield: the same signal, exit status, core dump and handlers. Nothing here traps or prints.
public enum Shield: Sendable {
  /// Installs the capture of crashes and registers this process with crashd.
  ///
  /// If crashd is not running, `start` still succeeds: crashes go to the spool directory, and a thread of the shield
  /// retries and calls `Configuration.onConnectionChange`. If `CRASHSHIELD_DISABLE` is set (and not `0`), the call does
  /// nothing; `isStarted` stays false and every other call is free.
  ///
  /// Start as early as possible: an earlier crash is not recorded, unless `CRASHSHIELD_EARLY=1` installs the handlers
  /// in a constructor. Costs some hundred microseconds, three sleeping threads, and a shared memory ring whose pages
  /// become resident as they are used. May be called from any thread.
  ///
  /// ```swift
  /// try Shield.start(.init(name: "shop", annotations: ["version": "1.4.2"]))
  /// ```
  ///
  /// - Throws: `StartError`. The process runs on, without crash reports. A second call throws
  ///   `StartError.alreadyStarted`, because its configuration would be ignored; the first one stays in force.
  public static func start(_ configuration: Configuration = Configuration()) throws(StartError) {
    try configuration.checkTexts()
    var failure = cs_shim_failure()
    let observer = configuration.onConnectionChange.map(ConnectionObserver.init)
    let context = unsafe observer.map { unsafe Unmanaged.passRetained($0) }
    let result = unsafe configuration.withCConfiguration(context: context?.toOpaque()) { c in
      // The pointers in `c` live as long as this closure; cs_shim_start copies what it keeps.
      unsafe cs_shim_start(c, &failure)
    }
    switch result {
    case .CS_SHIM_OK:
      // The observer stays retained: a thread of the shield may call it as long as the process lives.
      for (key, value) in configuration.annotations {
        annotate(key, value)
      }
      Quarantine.show()
      GuardRecords.publishAll()
    case .CS_SHIM_DISABLED:
      unsafe context?.release()
    default:
      // No thread was started, so nothing else holds the context.
      unsafe context?.release()
      throw StartError(result, failure)
    }
  }

  /// Starts the shield in a forked child with the configuration, annotations and images of its parent, but with its own
  /// ring and registration, and without the parent's `onConnectionChange`.
  ///
  /// A forked child has no shield until it starts one; its crash does not touch its parent's records. This call
  /// allocates and creates threads, but takes no lock of the loader or the Swift runtime that another thread of the
  /// parent may have held.
  ///
  /// ```swift
  /// try Shield.startInForkedChild()
  /// ```
  ///
  /// - Throws: `StartError`. `badArgument` when no process before the fork has started the shield.
  public static func startInForkedChild() throws(StartError) {
    var failure = cs_shim_failure()
    // The failure is written during the call.
    let result = unsafe cs_shim_start_in_forked_child(&failure)
    if result != .CS_SHIM_OK && result != .CS_SHIM_DISABLED { throw StartError(result, failure) }
  }

  /// Whether `start` succeeded in this process.
  ///
  /// False if `CRASHSHIELD_DISABLE` disables the shield, and in a forked child. Any thread.
  public static var isStarted: Bool { cs_shim_is_started() }

  /// Sets an annotation of this process that its reports show, such as its version.
  ///
  /// Replaces the value that `key` had; an empty value removes it. There is room for 64 keys, a key holds 64 bytes and
  /// a value 440 bytes of UTF-8; longer ones are cut. Any thread; about a hundred nanoseconds. Not for secrets.
  ///
  /// ```swift
  /// Shield.annotate("version", "1.4.2")
  /// ```
  ///
  /// - Returns: False if a text was cut, if there was no room, or if the shield is not started.
  @discardableResult
  public static func annotate(_ key: String, _ value: String) -> Bool {
    var (key, value) = (key, value)
    return key.withUTF8 { keyBytes in
      value.withUTF8 { valueBytes in
        // The buffers live as long as these closures; the shim copies them.
        unsafe withCharacters(keyBytes) { keyStart, keyCount in
          unsafe withCharacters(valueBytes) { valueStart, valueCount in
            unsafe cs_shim_annotate(keyStart, keyCount, valueStart, valueCount)
          }
        }
      }
    }
  }

  /// Records a breadcrumb, which the report of a later crash shows with its time, such as the request being served.
  ///
  /// The ring keeps the last 128, each up to 232 bytes of UTF-8. Lock-free, any thread; about a hundred nanoseconds, so
  /// cheap enough for each request but not for each iteration. Does nothing if the shield is not started. Not for
  /// secrets.
  ///
  /// ```swift
  /// Shield.breadcrumb("GET /cart/42")
  /// ```
  public static func breadcrumb(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      // The buffer lives as long as this closure; the shim copies it.
      unsafe withCharacters(bytes) { start, count in unsafe cs_shim_breadcrumb(start, count) }
    }
  }

  /// Calls `body` with UTF-8 as C's `char`; an empty string may have no address, but C gets a valid one.
  private static func withCharacters<Result>(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafePointer<CChar>, Int) -> Result
  ) -> Result {
    guard let start = bytes.baseAddress else {
      return unsafe "".withCString { empty in unsafe body(empty, 0) }
    }
    // Int8 and UInt8 have the same layout; the rebinding lasts for the call.
    return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { characters in
      unsafe body(characters, bytes.count)
    }
  }
}
