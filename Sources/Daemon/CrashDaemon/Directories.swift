import CShimRing
import Glibc
import LinuxSystem

/// The directories of crashd's sockets and reports.
public struct Directories: Sendable, Equatable {
  /// The directory of the sockets and the spool.
  public var runtime: String
  /// The directory of the reports and the symbol caches.
  public var state: String

  /// Makes the directories from two paths.
  public init(runtime: String, state: String) {
    self.runtime = runtime
    self.state = state
  }

  /// Returns the directories that systemd passes to the service in environment variables.
  ///
  /// If systemd passes no directories, crashd uses the system's directories if the user is root, and the user's XDG
  /// directories otherwise.
  /// - Returns: The result is nil if the user is not root and the environment lacks the variables that name the
  ///   directories, such as `XDG_RUNTIME_DIR` or `HOME`.
  public static func standard(environment: [String: String], user: UInt32) -> Directories? {
    func directory(_ name: String) -> String? {
      // If systemd passes several directories, a colon separates them. crashd uses the first one.
      environment[name]?.split(separator: ":").first.map(String.init)
    }
    let home = environment["HOME"].map { "\($0)/.local/state" }
    let userState = (environment["XDG_STATE_HOME"] ?? home).map { "\($0)/crashd" }
    let userRuntime = environment["XDG_RUNTIME_DIR"].map { "\($0)/crashd" }
    guard let runtime = directory("RUNTIME_DIRECTORY") ?? (user == 0 ? "/run/crashd" : userRuntime),
      let state = directory("STATE_DIRECTORY") ?? (user == 0 ? "/var/lib/crashd" : userState)
    else { return nil }
    return Directories(runtime: runtime, state: state)
  }

  var attachSocket: String { "\(runtime)/\(CS_ATTACH_SOCKET_NAME)" }
  var varlinkSocket: String { "\(runtime)/io.crashshield.Crashd" }
  var spool: String { "\(runtime)/\(CS_ATTACH_SPOOL_NAME)" }
  var runtimeLock: String { "\(runtime)/crashd.lock" }
  /// The path of the file that lists the hellos (first messages of processes) that possibly crashed crashd.
  ///
  /// This file and the descriptors in systemd's descriptor store are both lost when the machine shuts down, so they
  /// stay consistent.
  var helloTrials: String { "\(runtime)/hello-trials" }
  // The two lock files have different names, because `runtime` and `state` can be the same directory.
  var stateLock: String { "\(state)/reports.lock" }
  var reports: String { "\(state)/reports.sqlite" }
  var symbols: String { "\(state)/symbols" }

  /// Creates the directories that do not exist.
  func make() throws(SystemError) {
    try Self.make(runtime, mode: 0o755)
    try Self.make(state, mode: 0o700)
    try Self.make(symbols, mode: 0o700)
    try Self.make(spool, mode: 0o1733)
    try openSpool()
  }

  /// Sets the mode of the spool: every user can create files in it, but only crashd's user can list or remove files.
  ///
  /// The mode does not depend on the umask. If the mode is already correct, the function does not change it. chmod
  /// would clear the set-group-id bit that tmpfiles.d(5) set, and crashd may lack the right to set it again.
  private func openSpool() throws(SystemError) {
    var status = stat()
    // stat writes at most one struct stat.
    guard unsafe stat(spool, &status) == 0 else { throw SystemError("look at '\(spool)'") }
    guard status.st_mode & 0o1777 != 0o1733 else { return }
    guard unsafe chmod(spool, 0o1733) == 0 else { throw SystemError("change the mode of '\(spool)'") }
  }

  /// Creates a directory and its parent directories.
  ///
  /// The function does not change a directory that exists.
  static func make(_ path: String, mode: mode_t) throws(SystemError) {
    if unsafe mkdir(path, mode) == 0 { return }
    let what = "make the directory '\(path)'"
    switch errno {
    case ENOENT:
      guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { throw SystemError(what, code: ENOENT) }
      try make(String(path[..<slash]), mode: 0o755)
      guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError(what) }
    case EEXIST:
      var status = stat()
      // stat writes at most one struct stat.
      guard unsafe stat(path, &status) == 0 else { throw SystemError(what) }
      guard status.isDirectory else { throw SystemError(what, code: ENOTDIR) }
    default: throw SystemError(what)
    }
  }
}

/// Locks a directory, so that only one crashd uses it.
///
/// The kernel releases the lock when the process ends, even by SIGKILL.
///
/// If crashd is killed while it starts a child process, the child has a copy of the descriptor until the child calls
/// `execve`. This copy keeps the lock. Therefore, the next crashd retries until a time-out. The next crashd polls the
/// lock, because the kernel sends no event when the lock is released. If the lock is still held after the time-out,
/// another crashd is running, and the next crashd does not start.
final class DirectoryLock: Sendable {
  private let descriptor: Descriptor
  private static let pause_us: useconds_t = 10_000

  init(path: String, patience_ms: Int = 3_000) throws(DaemonError) {
    // The mode is the only variadic argument. open reads the mode because O_CREAT is set.
    let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw .system("\(SystemError("open '\(path)'"))") }
    descriptor = Descriptor(owning: number)
    let deadline = ContinuousClock.now + .milliseconds(patience_ms)
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw .system("\(SystemError("lock '\(path)'"))") }
      guard ContinuousClock.now < deadline else { throw .locked(path: path) }
      usleep(Self.pause_us)
    }
  }

  /// Releases the lock explicitly.
  ///
  /// Closing the descriptor would not be enough: a child process that crashd is starting has a copy of it until
  /// `execve`.
  deinit { flock(descriptor.number, LOCK_UN) }
}
