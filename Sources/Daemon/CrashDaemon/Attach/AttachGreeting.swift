import CLinux
import CrashReport
import CrashRing
import Glibc
import LinuxSystem

/// The first message of a process, with its ring and its images.
enum AttachGreeting {
  /// Checks everything that a process reports in its hello.
  /// - Parameters:
  ///   - message: The hello.
  ///   - peer: The process, by the kernel's credentials.
  ///   - pidfd: Its pidfd; nil where the kernel gave none.
  ///   - number: The number of its connection.
  ///   - census: Counts its ring.
  /// - Returns: The process, and its images.
  /// - Throws: `AttachRefusal`; the descriptors of the message are closed with it.
  static func check(
    _ message: AttachSocket.Message, from peer: Peer, pidfd: Descriptor?, number: UInt64, census: RingCensus?
  ) throws(AttachRefusal) -> (AttachedProcess, [ImageFile]) {
    let hello = try AttachHello(
      message: message.bytes, descriptorCount: message.descriptors.count, isTruncated: message.isTruncated)
    guard let memory = message.descriptors.first else { throw .malformed("no ring came with the hello") }
    let ring: RingSource
    do {
      ring = try RingSource(memory: memory)
      // The seals guarantee that closing it cannot block.
      memory.closeAtOnce()
    } catch {
      throw AttachRefusal(error)
    }
    let (identity, images) = ring.introduction()
    var descriptors: [Int: Descriptor] = [:]
    for (index, descriptor) in zip(hello.images, message.descriptors.dropFirst()) {
      descriptors[index] = descriptor
    }
    let process = AttachedProcess(
      number: number,
      facts: ProcessFacts(identity, images, peer: peer, surroundings: Surroundings.of(peer, pidfd)),
      ring: ring, census: census)
    return (process, ImageFile.list(images, descriptors: descriptors))
  }
}

/// What `/proc` shows about an attaching process.
struct Surroundings: Sendable {
  var unit: String?
  var memory: MemoryEvents?
  var startTime: UInt64?
  var pidfdInode: UInt64?
  var image: ProcessImage?
  /// The kernel would not dump it for the user who connected.
  var isRestricted = false
  var context = ProcessContext()

  /// For a process that was reaped only the pidfd is known: its pid may be another's by now.
  static func of(_ peer: Peer, _ pidfd: Descriptor?) -> Surroundings {
    let unknown = ProcessContext(machine: MachineFacts.here)
    guard let pidfd else { return Surroundings(context: unknown) }
    let pid = peer.pid
    let inode = cd_process_inode(pidfd.number)
    let pidfdInode = inode == 0 ? nil : inode
    let owner = ProcessOwner.of(pid: pid)
    let stat = ProcessStat.read(pid: pid)
    let groups = SmallFile.text(at: "/proc/\(pid)/cgroup")
    let found = Surroundings(
      unit: groups.flatMap(ProcessUnit.parse),
      memory: groups.flatMap { MemoryEvents.of(cgroups: $0) { SmallFile.text(at: $0) } },
      startTime: stat?.startTime, pidfdInode: pidfdInode, image: ProcessImage.of(pid: pid, pidfd),
      isRestricted: ProcessOwner.isRestricted(owner, stat, user: peer.uid),
      context: groups.map { ProcessContext(machine: MachineFacts.here, cgroups: $0) } ?? unknown)
    // Checked afterwards: a process that still exists had its pid all the time.
    return cd_process_exists(pidfd.number) ? found : Surroundings(pidfdInode: pidfdInode, context: unknown)
  }
}

extension ProcessFacts {
  init(_ contents: RingContents, peer: Peer, unit: String?) {
    self.init(contents.identity, contents.images, peer: peer, surroundings: Surroundings(unit: unit))
  }

  init(_ identity: RingContents.Identity, _ images: [RingContents.Image], peer: Peer, surroundings: Surroundings) {
    self.init(
      peer: peer, identity: identity,
      buildID: images.first { $0.isExecutable }?.buildID ?? "", unit: surroundings.unit,
      memory: surroundings.memory, startTime: surroundings.startTime, pidfdInode: surroundings.pidfdInode,
      image: surroundings.image, isRestricted: surroundings.isRestricted, context: surroundings.context)
  }
}

/// The owner of a process's files in `/proc` (proc(5); the directory itself always belongs to its user).
///
/// It is the effective user, or root (of its user namespace) where the kernel would not dump the process for that user.
/// Such a process was started with set-user-id or file capabilities, has changed its user, or asks for no dump. That
/// also detects a library that does not ask the kernel itself.
enum ProcessOwner {
  static func of(pid: Int32) -> UInt32? {
    var status = stat()
    // stat writes one struct stat.
    return unsafe stat("/proc/\(pid)/stat", &status) == 0 ? status.st_uid : nil
  }

  /// Whether the kernel would not dump a process for `user`.
  ///
  /// - Parameters:
  ///   - owner: The owner of its files; nil where `/proc` hides it.
  ///   - stat: The state that was read afterwards: a process that has ended belongs to root as well, which proves nothing.
  ///   - user: The user that connected.
  /// - Returns: False where it is unknown.
  static func isRestricted(_ owner: UInt32?, _ stat: ProcessStat?, user: UInt32) -> Bool {
    guard let owner, let stat, !stat.isExiting else { return false }
    return owner != user
  }
}

/// The systemd unit of a process.
enum ProcessUnit {
  /// The innermost `….service` of systemd's hierarchy: cgroup v2's line `0::PATH`, else v1's `name=systemd`.
  static func parse(_ text: String) -> String? {
    let named = ControlGroup.list(text).filter { $0.controllers.isEmpty || $0.controllers == "name=systemd" }
    for group in named.sorted(by: { $0.controllers.utf8.count > $1.controllers.utf8.count }) {
      let names = group.path.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init)
      let unit = names.last { $0.hasSuffix(".service") }
      // A user chooses the names of the groups below its own session.
      if let unit { return CleanText.line(String(unit)) }
    }
    return nil
  }
}
