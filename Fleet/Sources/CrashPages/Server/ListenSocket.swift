internal import Glibc
internal import Synchronization

/// Prepares and removes the file of the Unix socket on which the server listens.
///
/// If the server listens on a port of loopback instead, this class does nothing.
final class ListenSocket: Sendable {
  private struct File: Equatable {
    var device: dev_t
    var number: ino_t
  }

  private struct State {
    /// The previous umask of the process, while `prepare` has set another one.
    var mask: mode_t?
    /// The file that this server has bound.
    var file: File?
  }

  private let path: String?
  private let mode: mode_t
  private let state = Mutex(State())

  /// - Parameters:
  ///   - place: Where the server listens.
  ///   - isForGroup: Whether the group of the process can open the socket, or only the user.
  init(_ place: ListenPlace, isForGroup: Bool = false) {
    if case .socket(let path) = place { self.path = path } else { path = nil }
    mode = isForGroup ? 0o660 : 0o600
  }

  /// Restricts access to the socket, and removes a socket on which no process listens.
  ///
  /// The umask belongs to the whole process. `opened` or `close` restores it.
  func prepare() throws {
    guard let path else { return }
    var status = stat()
    // Invariant: lstat reads the path and fills in the structure only during the call.
    if unsafe lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFSOCK, !Self.isListening(path) else {
        throw StartFailure(text: "'\(path)' exists, and is in use or not a socket")
      }
      // Invariant: unlink reads the path only during the call.
      unsafe unlink(path)
    }
    state.withLock { $0.mask = umask(0o777 & ~mode) }
  }

  /// Records that the server has bound the socket.
  func opened() {
    let file = file()
    state.withLock { state in
      state.file = file
      Self.restore(&state)
    }
  }

  /// Removes the file that `opened` recorded.
  ///
  /// The file stays if it belongs to another program: after a failed bind, or if another program has replaced it.
  func close() {
    let file = file()
    let isOwn = state.withLock { state in
      Self.restore(&state)
      return file != nil && state.file == file
    }
    // Invariant: unlink reads the path only during the call.
    if isOwn, let path { unsafe unlink(path) }
  }

  private static func restore(_ state: inout State) {
    if let mask = state.mask { umask(mask) }
    state.mask = nil
  }

  private func file() -> File? {
    var status = stat()
    // Invariant: lstat reads the path and fills in the structure only during the call.
    guard let path, unsafe lstat(path, &status) == 0 else { return nil }
    return File(device: status.st_dev, number: status.st_ino)
  }

  private static func isListening(_ path: String) -> Bool {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return true }
    defer { Glibc.close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // Invariant: the path has at most 107 bytes, so a null character follows it in the 108 bytes of the structure.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    // Invariant: sockaddr_un begins with the fields of sockaddr, and connect reads it only during the call.
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
