import CShim
internal import Synchronization

/// Reports the crashes of this process to crashd.
///
/// A server adds one line near the start of `main`:
///
/// ```swift
/// import CrashShield
///
/// Shield.start(release: "shop@1.4.2", environment: "production")
/// ```
///
/// From then on the shield writes a fatal signal of any thread to memory shared with crashd. The process dies as it
/// would without the shield: the same signal, exit status, core dump and handlers. Nothing here traps or prints.
public enum Shield: Sendable {
  /// Installs the capture of crashes and registers this process with crashd; a failure leaves the process as it was.
  ///
  /// The result, `Shield.status` and `Configuration.onStatusChange` have the reason of a failure; `startOrThrow` throws
  /// it. The environment takes precedence: `CRASHSHIELD_NAME`, `CRASHSHIELD_RELEASE` and `CRASHSHIELD_ENVIRONMENT`
  /// replace these arguments.
  ///
  /// If crashd is not running, the start still succeeds: crashes go to the spool directory, and a thread of the shield
  /// retries. If `CRASHSHIELD_DISABLE` is set (and not `0`), the call does nothing; `isStarted` stays false and every
  /// other call is free.
  ///
  /// Start as early as possible: an earlier crash is not recorded, unless `CRASHSHIELD_EARLY=1` installs the handlers
  /// in a constructor. Costs some hundred microseconds, three sleeping threads, and a shared memory ring whose pages
  /// become resident as they are used. May be called from any thread.
  ///
  /// - Parameters:
  ///   - name: The process's name in reports; nil: `configuration.name`.
  ///   - release: The build, such as `shop@1.4.2`; nil: that of `configuration`.
  ///   - environment: The deployment, such as `production`; nil: that of `configuration`.
  ///   - configuration: The other settings.
  ///   - onStatusChange: Called as `configuration.onStatusChange`, which it replaces.
  /// - Returns: The status after the call.
  @discardableResult
  public static func start(
    name: String? = nil, release: String? = nil, environment: String? = nil,
    configuration: Configuration = Configuration(), onStatusChange: (@Sendable (Status) -> Void)? = nil
  ) -> Status {
    var configuration = configuration
    if let name { configuration.name = name }
    if let release { configuration.tags["release"] = release }
    if let environment { configuration.tags["environment"] = environment }
    if let onStatusChange { configuration.onStatusChange = onStatusChange }
    do throws(StartError) {
      try startOrThrow(configuration)
      return status
    } catch {
      let status = status
      configuration.onStatusChange?(status)
      return status
    }
  }

  /// Starts like `start`, and throws the reason of a failure, for a program that must not run without crash reports.
  ///
  /// ```swift
  /// try Shield.startOrThrow(.init(name: "shop", tags: ["region": "eu"]))
  /// ```
  ///
  /// - Throws: `StartError`. The process runs on, without crash reports. A second call throws
  ///   `StartError.alreadyStarted`, because its configuration would be ignored; the first one stays in force.
  public static func startOrThrow(_ configuration: Configuration = Configuration()) throws(StartError) {
    do throws(StartError) {
      try begin(configuration)
      lastStartError.withLock { $0 = nil }
    } catch {
      lastStartError.withLock { $0 = error }
      throw error
    }
  }

  /// The reason why the latest start failed.
  static let lastStartError = Mutex<StartError?>(nil)

  private static func begin(_ configuration: Configuration) throws(StartError) {
    try configuration.checkTexts()
    var failure = cs_shim_failure()
    let observer = configuration.onStatusChange.map(StatusObserver.init)
    let context = unsafe observer.map { unsafe Unmanaged.passRetained($0) }
    let result = unsafe configuration.withCConfiguration(context: context?.toOpaque()) { c in
      // The pointers in `c` live as long as this closure; cs_shim_start copies what it keeps.
      unsafe cs_shim_start(c, &failure)
    }
    switch result {
    case .CS_SHIM_OK:
      // The observer stays retained: a thread of the shield may call it as long as the process lives.
      for (key, value) in configuration.tags { setTag(key, to: value) }
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

  /// Starts the shield in a forked child with the configuration, tags and images of its parent, but with its own ring
  /// and registration, and without the parent's `onStatusChange`.
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

  /// Whether a start succeeded in this process.
  ///
  /// False if `CRASHSHIELD_DISABLE` disables the shield, and in a forked child. Any thread.
  public static var isStarted: Bool { cs_shim_is_started() }
}
