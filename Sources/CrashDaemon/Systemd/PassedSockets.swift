import Glibc

/// The sockets that systemd opened for us (sd_listen_fds(3)).
enum PassedSockets {
  private static let first: Int32 = 3
  private static let limit: Int32 = 16

  /// Descriptors by name (`FileDescriptorName=`); empty when systemd passed none to this process.
  static func parse(environment: [String: String], pid: Int32) -> [String: Int32] {
    guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == pid,
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...limit).contains(count)
    else { return [:] }
    let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
    var sockets: [String: Int32] = [:]
    for index in 0..<count {
      let name = Int(index) < names.count ? String(names[Int(index)]) : "unknown"
      if sockets[name] == nil { sockets[name] = first + index }
    }
    return sockets
  }

  /// Takes one over, checked and prepared.
  static func take(_ number: Int32, kind: UnixSocket.Kind) -> Descriptor? {
    guard UnixSocket.isListening(number, kind: kind) else { return nil }
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    return Descriptor(owning: number)
  }
}
