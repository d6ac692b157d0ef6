/// The reason why crashd cannot start, described for the operator.
public enum DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another crashd uses the same runtime directory or state directory.
  case locked(path: String)
  /// The report database cannot be used.
  case store(String)
  /// systemd passed a descriptor that is not a listening socket of crashd, or passed two sockets of the same kind.
  case passedSocket(Int32)
  /// A system call failed.
  case system(String)

  /// What failed, and how to fix it.
  public var description: String {
    switch self {
    case .locked(let path):
      "another crashd holds '\(path)'; stop it, or choose other directories with --runtime-directory and --state-directory"
    case .store(let text): text
    case .passedSocket(let number):
      "cannot use descriptor \(number) that systemd passed: crashd.socket has one ListenSequentialPacket= and one "
        + "ListenStream="
    case .system(let text): text
    }
  }
}
