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
/// From then on, when a thread gets a fatal signal, the shield writes a record to memory that it shares with crashd.
/// The process then ends as it would without the shield: with the same signal, exit status, core dump and handlers. The
/// functions of the shield neither trap nor print.
public enum Shield: Sendable {
  /// Installs the crash handlers and registers this process with crashd; if the start fails, the process is unchanged.
  ///
  /// The result, `Shield.status` and `Configuration.onStatusChange` state the reason of a failure. `startOrThrow`
  /// throws the reason. The environment takes precedence: `CRASHSHIELD_NAME`, `CRASHSHIELD_RELEASE` and
  /// `CRASHSHIELD_ENVIRONMENT` replace these arguments.
  ///
  /// If crashd is not running, the start still succeeds: crashes go to the spool directory, and a thread of the shield
  /// retries. If `CRASHSHIELD_DISABLE` is set to anything but `0`, the call does nothing. `isStarted` then stays false,
  /// and every other call costs nothing.
  ///
  /// Start as early as possible, because crashes before the start are not recorded. `CRASHSHIELD_EARLY=1` installs the
  /// handlers before `main`, when the library is loaded. The start costs some hundred microseconds, three sleeping
  /// threads, and a shared memory ring whose pages become resident when they are used. May be called from any thread.
  ///
  /// - Parameters:
  ///   - name: The process's name in reports; if nil, `configuration.name` applies.
  ///   - release: The build, such as `shop@1.4.2`; if nil, the release of `configuration` applies.
  ///   - environment: The deployment, such as `production`; if nil, the environment of `configuration` applies.
  ///   - configuration: The other settings.
  ///   - onStatusChange: Replaces `configuration.onStatusChange`.
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

  /// Starts like `start`, but throws the reason of a failure; for programs that must not run without crash reports.
  ///
  /// ```swift
  /// try Shield.startOrThrow(.init(name: "shop", tags: ["region": "eu"]))
  /// ```
  ///
  /// - Throws: `StartError`. The process continues without crash reports. A second call throws
  ///   `StartError.alreadyStarted`, because its configuration would be ignored; the configuration of the first call
  ///   stays in force.
  public static func startOrThrow(_ configuration: Configuration = Configuration()) throws(StartError) {
    do throws(StartError) {
      try begin(configuration)
      lastStartError.withLock { $0 = nil }
    } catch {
      lastStartError.withLock { $0 = error }
      throw error
    }
  }

  /// The reason why the latest call of `start` or `startOrThrow` failed; nil if it succeeded.
  static let lastStartError = Mutex<StartError?>(nil)

  private static func begin(_ configuration: Configuration) throws(StartError) {
    try configuration.checkTexts()
    let chosen = try configuration.containment.effective()
    if !isStarted { containmentRefusal.withLock { $0 = chosen.refusal } }
    var failure = cs_shim_failure()
    let observer = configuration.onStatusChange.map(StatusObserver.init)
    let context = unsafe observer.map { unsafe Unmanaged.passRetained($0) }
    let result = unsafe configuration.withCConfiguration(context: context?.toOpaque()) { c in
      // Invariant: the pointers in `c` are valid inside this closure; cs_shim_start copies the values that it keeps.
      unsafe cs_shim_start(c, &failure)
    }
    switch result {
    case .CS_SHIM_OK:
      // Do not release the observer after a successful start: a thread of the shield can call it until the process
      // ends.
      for (key, value) in configuration.tags { setTag(key, to: value) }
      Quarantine.show()
      GuardRecords.publishAll()
      startContainment(chosen.mode, onDrain: configuration.onDrain)
    case .CS_SHIM_DISABLED:
      unsafe context?.release()
    default:
      // Invariant: the start failed and did not create a thread, so no other code uses the context.
      unsafe context?.release()
      throw StartError(result, failure)
    }
  }

  /// Starts the shield in a forked child, with the configuration, tags and images of its parent.
  ///
  /// The child gets its own ring and registration, and does not call the parent's `onStatusChange`.
  ///
  /// A forked child has no shield until it starts one, and a crash of the child does not change the parent's records.
  /// This call allocates memory and creates threads. The call takes no lock of the loader or the Swift runtime, because
  /// another thread of the parent possibly held such a lock at the fork.
  ///
  /// ```swift
  /// try Shield.startInForkedChild()
  /// ```
  ///
  /// - Throws: `StartError`; in particular `badArgument` if the shield was not started before the fork.
  public static func startInForkedChild() throws(StartError) {
    var failure = cs_shim_failure()
    // Invariant: the C function writes the failure only during the call.
    let result = unsafe cs_shim_start_in_forked_child(&failure)
    if result != .CS_SHIM_OK && result != .CS_SHIM_DISABLED { throw StartError(result, failure) }
  }

  /// Whether a start succeeded in this process.
  ///
  /// False if `CRASHSHIELD_DISABLE` disables the shield, and in a forked child that has not started it. May be called
  /// from any thread.
  public static var isStarted: Bool { cs_shim_is_started() }
}
