import Glibc
import LinuxSystem

/// The sockets that systemd opened for crashd (sd_listen_fds(3)).
///
/// The socket type identifies them, not `FileDescriptorName=`: one socket unit has one name for all of them.
enum PassedSockets {
  private static let first: Int32 = 3
  /// Two for each process that an earlier crashd stored (`DescriptorStore`), and the sockets.
  private static let limit: Int32 = 32_768

  /// Descriptors that systemd passed to this process; empty when there are none.
  static func parse(environment: [String: String], pid: Int32) -> [Int32] {
    guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == pid,
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...limit).contains(count)
    else { return [] }
    return Array(first..<first + count)
  }

  /// The names that systemd gives them, in their order; `unknown` where it gives none.
  static func names(environment: [String: String], count: Int) -> [String] {
    let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
    return (0..<count).map { $0 < names.count ? String(names[$0]) : "unknown" }
  }

  /// The descriptors that an earlier crashd stored, prepared; the other numbers are sockets.
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

  /// Takes ownership of the sockets, checked and prepared.
  /// - Throws: `DaemonError.passedSocket` for one that is no listening socket of crashd's, or the second of its kind.
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
