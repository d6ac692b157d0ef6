import CShimRing
import Glibc
import LinuxSystem

/// Where crashd keeps its sockets and its reports.
public struct Directories: Sendable, Equatable {
  /// Sockets and the spool.
  public var runtime: String
  /// Reports and symbol caches.
  public var state: String

  /// Makes them from two paths.
  public init(runtime: String, state: String) {
    self.runtime = runtime
    self.state = state
  }

  /// systemd's directories, else the system's for root, else the user's.
  /// - Returns: nil when the environment names none: neither `XDG_RUNTIME_DIR` nor `HOME`.
  public static func standard(environment: [String: String], user: UInt32) -> Directories? {
    func directory(_ name: String) -> String? {
      // systemd lists several with colons; the first is ours.
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
  /// Hellos that ended crashd, perhaps; it goes when systemd's descriptors go, with the machine's end.
  var helloTrials: String { "\(runtime)/hello-trials" }
  // Of another name, because both directories may be one.
  var stateLock: String { "\(state)/reports.lock" }
  var reports: String { "\(state)/reports.sqlite" }
  var symbols: String { "\(state)/symbols" }

  /// Makes what is missing.
  func make() throws(SystemError) {
    try Self.make(runtime, mode: 0o755)
    try Self.make(state, mode: 0o700)
    try Self.make(symbols, mode: 0o700)
    try Self.make(spool, mode: 0o1733)
    try openSpool()
  }

  /// Lets everybody put files there, and nobody else list or remove them, whatever the umask.
  ///
  /// A set-group-id bit that tmpfiles.d(5) gave stays, and a mode that is right is left alone: the service may not set
  /// that bit itself.
  private func openSpool() throws(SystemError) {
    var status = stat()
    // stat writes one struct stat.
    guard unsafe stat(spool, &status) == 0 else { throw SystemError("look at '\(spool)'") }
    guard status.st_mode & 0o1777 != 0o1733 else { return }
    guard unsafe chmod(spool, 0o1733) == 0 else { throw SystemError("change the mode of '\(spool)'") }
  }

  /// Makes a directory and its parents; one that is there is left alone.
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
      // stat writes one struct stat.
      guard unsafe stat(path, &status) == 0 else { throw SystemError(what) }
      guard status.isDirectory else { throw SystemError(what, code: ENOTDIR) }
    default: throw SystemError(what)
    }
  }
}

/// Holds a directory for one crashd: the kernel lets go of it when the process ends, however it ends.
///
/// A child that was being started when crashd was killed has a copy of the descriptor until it is its program, and with it
/// the lock: whoever comes next waits that long for it. Nobody tells when it goes, so it is asked for again and again; a
/// crashd that lives keeps it for longer.
final class DirectoryLock: Sendable {
  private let descriptor: Descriptor
  private static let pause_us: useconds_t = 10_000

  init(path: String, patience_ms: Int = 3_000) throws(DaemonError) {
    // The mode is the one variadic argument that open reads with O_CREAT.
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

  /// A child that is being started has a copy of the descriptor until it is its program, and with it the lock.
  deinit { flock(descriptor.number, LOCK_UN) }
}
