/// Why crashd cannot start; each is one sentence for the operator.
public enum DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another crashd runs in the runtime directory.
  case locked(path: String)
  /// The report database cannot be used.
  case store(String)
  /// systemd passed a socket under one of our names that is none of the kind.
  case passedSocket(name: String)
  /// A system call failed.
  case system(String)

  /// What failed, and what to do.
  public var description: String {
    switch self {
    case .locked(let path):
      "another crashd holds '\(path)'; stop it, or choose another directory with --runtime-directory"
    case .store(let text): text
    case .passedSocket(let name): "the socket '\(name)' that systemd passed is not a listening socket of the right type"
    case .system(let text): text
    }
  }
}
