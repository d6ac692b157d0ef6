internal import CLinux
internal import CrashClient
import FoundationEssentials
import Glibc
internal import LinuxSystem

/// A crashd that runs only for one command of crashctl, with its sockets and store in a temporary directory.
struct PrivateDaemon: ~Copyable {
  private static let startLimit_ms: Int32 = 30_000

  /// The client of this crashd.
  let client: CrashClient
  /// The attach socket of this crashd, at which programs register.
  let attachPath: String
  /// The temporary directory of this crashd.
  let directory: String
  /// The pid of this crashd.
  var pid: pid_t { process.pid }
  private let process: ChildProcess
  private let storage: PrivateDirectory

  private init(process: ChildProcess, storage: consuming PrivateDirectory, runtime: String) {
    client = CrashClient(socketPath: runtime + "/io.crashshield.Crashd")
    attachPath = runtime + "/attach"
    directory = storage.path
    self.process = process
    self.storage = storage
  }

  deinit { process.stop() }

  /// Starts crashd and waits until it is ready.
  ///
  /// With `keep` the directory is not removed.
  static func start(
    keep: Bool, environment: [String: String], options: [String] = []
  ) throws(Failure) -> PrivateDaemon {
    let storage = try PrivateDirectory(keep: keep, environment: environment)
    let runtime = storage.path + "/run"
    let state = storage.path + "/state"
    let log = storage.path + "/crashd.log"
    let notify = try Self.notifySocket(storage.path + "/notify")
    // Invariant: mkdir reads the paths only during the calls.
    for path in [runtime, state] where unsafe mkdir(path, 0o700) != 0 {
      throw Failure(.unreachable, "cannot make '\(path)' (\(SystemError.text(errno)))")
    }
    let process = try launch(
      ["--runtime-directory", runtime, "--state-directory", state] + options, log: log, notifyPath: notify.path,
      environment)
    guard waitUntilReady(process, notify) else {
      process.stop()
      throw Failure(.unreachable, "crashd did not start: \(lastLine(log))")
    }
    return PrivateDaemon(process: process, storage: storage, runtime: runtime)
  }

  private static func notifySocket(_ path: String) throws(Failure) -> NotifySocket {
    do throws(SystemError) {
      return try NotifySocket(path: path)
    } catch {
      if error.code == ENAMETOOLONG {
        throw Failure(.unreachable, "'\(path)' is too long for a socket: set TMPDIR to a shorter directory")
      }
      throw Failure(.unreachable, "cannot bind '\(path)' (\(SystemError.text(error.code)))")
    }
  }

  private static func launch(
    _ arguments: [String], log: String, notifyPath: String, _ environment: [String: String]
  ) throws(Failure) -> ChildProcess {
    // Invariant: open reads the path only during the call.
    let output = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    defer {
      close(output)
      close(nothing)
    }
    guard output >= 0, nothing >= 0 else {
      throw Failure(.unreachable, "cannot open '\(log)' (\(SystemError.text(errno)))")
    }

    var settings = environment
    // systemd can have set these variables for crashctl, and the private crashd must not inherit them.
    for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID", "CRASHSHIELD_SPOOL"] {
      settings[name] = nil
    }
    settings["NOTIFY_SOCKET"] = notifyPath
    let options = ChildProcess.Options(
      standardInput: nothing, standardOutput: output, standardError: output, isServant: true, environment: settings)
    do throws(ChildProcess.StartError) {
      return try ChildProcess(Programs.find("crashd"), arguments, options)
    } catch {
      throw Failure(
        .unreachable, "cannot start '\(error.file)' (\(SystemError.text(error.errno))): is crashd installed?")
    }
  }

  private static func waitUntilReady(_ process: ChildProcess, _ notify: NotifySocket) -> Bool {
    // A pidfd that cannot be opened means that the process has ended.
    guard let end = try? Descriptor(ofProcess: process.pid) else { return false }
    while firstReadable([notify.descriptor.number, end.number], timeout_ms: startLimit_ms) == 0 {
      if notify.isReadyMessage() { return true }
    }
    return false
  }

  private static func lastLine(_ path: String) -> String {
    let log: Data
    do {
      log = try Data(contentsOf: URL(filePath: path))
    } catch {
      return "it has no log"
    }
    let line = String(decoding: log, as: UTF8.self).split(separator: "\n").last
    return line.map(String.init) ?? "its log is empty"
  }
}
