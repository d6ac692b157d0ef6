import CLinux
import CrashReport
import CrashRing
import Glibc
import LinuxSystem

/// The first message of a process, with its ring and its images.
enum AttachGreeting {
  /// Checks everything that a process says of itself.
  /// - Parameters:
  ///   - message: What it said.
  ///   - peer: Who it is.
  ///   - pidfd: It; nil where the kernel gave none.
  ///   - number: Its connection's.
  ///   - census: Counts its ring.
  /// - Returns: It, and its images.
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
      // The seals say so.
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

/// What `/proc` shows of a process that attaches.
struct Surroundings: Sendable {
  var unit: String?
  var memory: MemoryEvents?
  var startTime: UInt64?
  var pidfdInode: UInt64?
  var image: ProcessImage?
  /// The kernel would not dump it for the user who connected.
  var isRestricted = false

  /// Of a process that has ended and been waited for, only the pidfd is known: its pid may be another's by now.
  static func of(_ peer: Peer, _ pidfd: Descriptor?) -> Surroundings {
    guard let pidfd else { return Surroundings() }
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
      isRestricted: ProcessOwner.isRestricted(owner, stat, user: peer.uid))
    // Asked afterwards: a process that is still there had its pid all the time.
    return cd_process_exists(pidfd.number) ? found : Surroundings(pidfdInode: pidfdInode)
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
      image: surroundings.image, isRestricted: surroundings.isRestricted)
  }
}

/// Whose a process is to the kernel: the owner of its files in `/proc` (proc(5); the directory itself is always its user's).
///
/// That is its effective user, or root (of its user namespace) where the kernel would not dump it for that user: it was
/// started with set-user-id or file capabilities, has changed its user, or asks for no dump. So a library that does not
/// ask the kernel itself is found out as well.
enum ProcessOwner {
  static func of(pid: Int32) -> UInt32? {
    var status = stat()
    // stat writes one struct stat.
    return unsafe stat("/proc/\(pid)/stat", &status) == 0 ? status.st_uid : nil
  }

  /// Whether the kernel would not dump a process for `user`.
  ///
  /// - Parameters:
  ///   - owner: Of its files; nil where `/proc` hides it.
  ///   - stat: What was read after that: one that has ended belongs to root as well, and says nothing.
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
