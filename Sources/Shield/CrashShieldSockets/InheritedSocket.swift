#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A listening socket that a supervisor opened for this process.
///
/// A supervisor, such as systemd or `crashctl serve`, holds the socket, and restarts the server after a crash. The
/// kernel then queues new connections instead of refusing them. The supervisor passes its sockets by the protocol of
/// sd_listen_fds(3), in the environment variables `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
///
/// ```swift
/// let server = if let socket = InheritedSocket.all().first {
///   try await bootstrap.withBoundSocket(socket.descriptor).get()
/// } else {
///   try await bootstrap.bind(host: "127.0.0.1", port: 8080).get()
/// }
/// ```
///
/// To stop accepting connections, stop reading from the socket, or close the descriptor. Do not call `shutdown` on the
/// descriptor, because `shutdown` also affects the supervisor and the next process of the server.
public struct InheritedSocket: Sendable, Equatable {
  private static let first: Int32 = 3
  private static let limit: Int32 = 1_024

  /// The number of the descriptor.
  ///
  /// The program that calls `all()` owns the descriptor, and closes it.
  public let descriptor: Int32
  /// The name from systemd's `FileDescriptorName=` or from `crashctl serve --listen NAME=ADDRESS`.
  ///
  /// A socket without a name has the name `unknown`.
  public let name: String

  /// Returns the sockets that a supervisor passed to this process, in the order of the supervisor.
  ///
  /// The array contains only listening sockets, and is empty if no supervisor passed sockets. The function sets
  /// close-on-exec for each socket, so that children do not inherit the sockets. The function does not change the
  /// environment. A child can ignore the variables, because `LISTEN_PID` is not its pid. Call this function before
  /// other threads change the environment.
  ///
  /// The array is also empty in a set-user-ID or set-group-ID program, because the environment then comes from another
  /// user. After `seteuid` or `setegid` the array is empty for the same reason, so call this function first. File
  /// capabilities, such as the capability for ports below 1024, make no difference.
  public static func all() -> [InheritedSocket] {
    guard getuid() == geteuid(), getgid() == getegid() else { return [] }
    let sockets = parse(
      pid: variable("LISTEN_PID"), count: variable("LISTEN_FDS"), names: variable("LISTEN_FDNAMES"), own: getpid())
    return sockets.filter { isListening($0.descriptor) && fcntl($0.descriptor, F_SETFD, FD_CLOEXEC) == 0 }
  }

  /// Returns whether the descriptor is a listening socket.
  ///
  /// If `LISTEN_FDS` is wrong, the number can be a descriptor that this process has opened itself.
  private static func isListening(_ descriptor: Int32) -> Bool {
    var answer: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    // Invariant: getsockopt writes at most `size` bytes into the number, during the call.
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer != 0
  }

  /// Parses the values of the environment variables; nil stands for a variable that is not set.
  static func parse(pid: String?, count: String?, names: String?, own: Int32) -> [InheritedSocket] {
    guard pid.flatMap({ Int32($0) }) == own, let count = count.flatMap({ Int32($0) }), (1...limit).contains(count)
    else { return [] }
    let names = (names ?? "").split(separator: ":", omittingEmptySubsequences: false)
    return (0..<Int(count)).map { index in
      let name = index < names.count && !names[index].isEmpty ? String(names[index]) : "unknown"
      return InheritedSocket(descriptor: first + Int32(index), name: name)
    }
  }

  private static func variable(_ name: String) -> String? {
    // Invariant: getenv returns NULL or a C string, which is valid until the program changes the environment.
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }
}
