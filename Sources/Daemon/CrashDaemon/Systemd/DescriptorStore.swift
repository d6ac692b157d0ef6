import CLinux
import CrashRing
import Glibc
import LinuxSystem

/// Uses systemd's file descriptor store (sd_pid_notify_with_fds(3)).
///
/// While crashd does not run, systemd holds two descriptors for each attached process: the ring (the memory with its
/// crash records) and the pidfd. With the pidfd, the next crashd reads how the process ended.
///
/// crashd uses the descriptor store only if the unit enables it with `CRASHD_DESCRIPTOR_STORE=1` and
/// `FileDescriptorStoreMax=`.
struct DescriptorStore: Sendable {
  private static let prefix = "process-"
  private static let connectionPrefix = "connection-"

  private let notifier: Notifier
  private let ledger: Ledger
  /// Makes the descriptor names of this crashd different from the names that an earlier crashd used.
  private let generation = String(Moment.monotonic_ns(), radix: 16)

  /// Returns nil if the environment does not enable the descriptor store.
  init?(environment: [String: String], notifier: Notifier, ledger: Ledger) {
    guard environment["CRASHD_DESCRIPTOR_STORE"] == "1", environment["NOTIFY_SOCKET"]?.isEmpty == false else {
      return nil
    }
    self.notifier = notifier
    self.ledger = ledger
  }

  /// Returns the name under which systemd stores the descriptors of a process.
  ///
  /// A later crashd identifies the process by this name. The name contains only a pid that the kernel confirmed.
  func name(of process: AttachedProcess) -> String {
    let pid = process.facts.isPIDClaimed ? 0 : process.facts.peer.pid
    return "\(Self.prefix)\(generation)-\(process.number)-\(process.facts.peer.uid)-\(pid)"
  }

  /// Stores the ring and the pidfd of a process in systemd.
  func keep(_ process: AttachedProcess, pidfd: Descriptor, as name: String) {
    // Tell systemd not to poll the pidfd (`FDPOLL=0`). Otherwise, systemd would drop the pidfd when the process ends,
    // but crashd needs the pidfd after that.
    let isSent = notifier.send(
      "FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)", [process.ring.descriptor, pidfd])
    if !isSent {
      ledger.refuse("kept descriptor", from: process.facts.peer, because: "systemd did not accept it")
    }
  }

  /// Stores a connection in systemd before the process has sent its hello (its first message).
  ///
  /// If the process has already ended, the unread data in the connection is all that remains of the process.
  /// - Returns: The name under which systemd stores the connection.
  func keep(connection: Descriptor, number: UInt64) -> String {
    let name = "\(Self.connectionPrefix)\(generation)-\(number)"
    if !notifier.send("FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)", [connection]) {
      ledger.refuse(
        "kept descriptor", from: Peer(pid: 0, uid: geteuid()), because: "systemd did not accept a connection")
    }
    return name
  }

  /// Removes the descriptors with the given name from systemd.
  func forget(_ name: String) {
    _ = notifier.send("FDSTOREREMOVE=1\nFDNAME=\(name)", [])
  }

  /// Returns the processes whose descriptors an earlier crashd stored.
  static func processes(in passed: [(name: String, descriptor: Descriptor)]) -> [KeptProcess] {
    let names = Dictionary(grouping: passed.filter { $0.name.hasPrefix(prefix) }, by: \.name)
    return names.keys.sorted().compactMap { name in
      KeptProcess(name: name, descriptors: names[name, default: []].map(\.descriptor))
    }
  }

  /// Returns the connections that an earlier crashd stored before it had read the hello.
  static func connections(in passed: [(name: String, descriptor: Descriptor)]) -> [KeptConnection] {
    passed.filter { $0.name.hasPrefix(connectionPrefix) }.map {
      KeptConnection(name: $0.name, socket: AttachSocket(descriptor: $0.descriptor))
    }
  }

  static func isName(_ name: String) -> Bool { name.hasPrefix(prefix) || name.hasPrefix(connectionPrefix) }
}

/// A connection that an earlier crashd accepted, but whose hello it did not read.
struct KeptConnection: Sendable {
  var name: String
  var socket: AttachSocket
}

/// A process that was attached to an earlier crashd.
struct KeptProcess: Sendable {
  var name: String
  var peer: Peer
  var ring: RingSource
  var pidfd: Descriptor

  /// Returns nil if the name does not have the form that crashd creates, or if the descriptors are not exactly one ring
  /// and one other descriptor.
  init?(name: String, descriptors: [Descriptor]) {
    let numbers = name.split(separator: "-").suffix(2)
    guard descriptors.count == 2, numbers.count == 2, let uid = numbers.first.flatMap({ UInt32($0) }),
      let pid = numbers.last.flatMap({ Int32($0) })
    else { return nil }
    for (ring, other) in [(descriptors[0], descriptors[1]), (descriptors[1], descriptors[0])] {
      if let source = try? RingSource(memory: ring) {
        (self.name, peer, self.ring, pidfd) = (name, Peer(pid: pid, uid: uid), source, other)
        return
      }
    }
    return nil
  }
}
