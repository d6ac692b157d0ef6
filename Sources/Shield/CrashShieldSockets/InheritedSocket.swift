#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A listening socket that a supervisor opened for this process.
///
/// A supervisor such as systemd or `crashctl serve` holds the socket and starts the server again when it ends. The
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
/// To stop accepting, stop reading from the socket or close the descriptor. Do not call `shutdown` on the descriptor,
/// because that call also affects the supervisor and the next server.
public struct InheritedSocket: Sendable, Equatable {
  private static let first: Int32 = 3
  private static let limit: Int32 = 1_024

  /// The number of the descriptor.
  ///
  /// Like an opened file, the descriptor has one owner, which closes it.
  public let descriptor: Int32
  /// The name from systemd's `FileDescriptorName=` or from `crashctl serve --listen NAME=ADDRESS`.
  ///
  /// A socket without a name has the name `unknown`.
  public let name: String

  /// Returns the sockets that were passed to this process, in the order of the supervisor.
  ///
  /// The array is empty if no supervisor passed sockets. Sets close-on-exec for each descriptor, so that children do
  /// not inherit it. Does not change the environment: `LISTEN_PID` tells a child that the sockets are not for the child.
  /// Call this function before other threads change the environment.
  public static func all() -> [InheritedSocket] {
    let sockets = parse(
      pid: variable("LISTEN_PID"), count: variable("LISTEN_FDS"), names: variable("LISTEN_FDNAMES"), own: getpid())
    return sockets.filter { fcntl($0.descriptor, F_SETFD, FD_CLOEXEC) == 0 }
  }

  /// Parses the values of the variables, which are nil if a variable is not set.
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
