import Glibc
import LinuxSystem

/// The sockets that systemd opened for crashd (sd_listen_fds(3)).
///
/// crashd identifies each of these sockets by its type. `FileDescriptorName=` cannot identify the sockets, because all
/// sockets of a socket unit have the same name.
enum PassedSockets {
  private static let first: Int32 = 3
  /// The maximum number of passed descriptors: the sockets, and two descriptors for each process that an earlier crashd
  /// stored (`DescriptorStore`).
  private static let limit: Int32 = 32_768

  /// Returns the descriptors that systemd passed to this process.
  ///
  /// The list is empty if systemd passed no descriptors.
  static func parse(environment: [String: String], pid: Int32) -> [Int32] {
    guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == pid,
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...limit).contains(count)
    else { return [] }
    return Array(first..<first + count)
  }

  /// Returns the names that systemd gave to the passed descriptors, in the order of the descriptors.
  ///
  /// If the name of a descriptor is missing, it is `unknown`.
  static func names(environment: [String: String], count: Int) -> [String] {
    let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
    return (0..<count).map { $0 < names.count ? String(names[$0]) : "unknown" }
  }

  /// Takes ownership of the descriptors that an earlier crashd stored in systemd, and returns them.
  ///
  /// The method also returns the numbers of the other passed descriptors, which are sockets.
  static func takeKept(
    _ numbers: [Int32], names: [String]
  ) -> (kept: [(name: String, descriptor: Descriptor)], sockets: [Int32]) {
    var kept: [(name: String, descriptor: Descriptor)] = []
    var sockets: [Int32] = []
    for (number, name) in zip(numbers, names) {
      guard DescriptorStore.isName(name) else {
        sockets.append(number)
        continue
      }
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
      kept.append((name, Descriptor(owning: number)))
    }
    return (kept, sockets)
  }

  /// Checks the sockets, sets their flags, and takes ownership of them.
  /// - Throws: `DaemonError.passedSocket` for a descriptor that is not a listening socket of crashd, or for a second
  ///   socket of the same kind.
  static func take(_ numbers: [Int32]) throws(DaemonError) -> [UnixSocket.Kind: Descriptor] {
    var sockets: [UnixSocket.Kind: Descriptor] = [:]
    for number in numbers {
      guard let kind = UnixSocket.Kind.allCases.first(where: { UnixSocket.isListening(number, kind: $0) }),
        sockets[kind] == nil
      else { throw .passedSocket(number) }
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
      _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
      sockets[kind] = Descriptor(owning: number)
    }
    return sockets
  }
}
