import CLinux
import CrashReport
import CrashRing
import Glibc
import LinuxSystem

/// Checks the first message of a process (its hello), which contains the descriptors of the ring (the shared memory for
/// crash records) and of the images.
enum AttachGreeting {
  /// Checks the contents of a hello and maps the ring.
  /// - Parameters:
  ///   - message: The hello.
  ///   - peer: The credentials of the process, from the kernel.
  ///   - pidfd: The pidfd of the process; nil if the kernel does not provide pidfds.
  ///   - number: The number of the process's connection.
  ///   - census: Counts the mapped rings; nil if rings are not counted.
  /// - Returns: The process, and the files of its images.
  /// - Throws: `AttachRefusal`. When the message is released, its descriptors are closed.
  static func check(
    _ message: AttachSocket.Message, from peer: Peer, pidfd: Descriptor?, number: UInt64, census: RingCensus?
  ) throws(AttachRefusal) -> (AttachedProcess, [ImageFile]) {
    let hello = try AttachHello(
      message: message.bytes, descriptorCount: message.descriptors.count, isTruncated: message.isTruncated)
    guard let memory = message.descriptors.first else { throw .malformed("no ring came with the hello") }
    let ring: RingSource
    do {
      ring = try RingSource(memory: memory)
      // The ring is a sealed memfd. Therefore, closing the ring's descriptor cannot block.
      memory.closeAtOnce()
    } catch {
      throw AttachRefusal(error)
    }
    let (facts, images) = ProcessFacts.introduced(by: ring, peer: peer, pidfd: pidfd)
    var descriptors: [Int: Descriptor] = [:]
    for (index, descriptor) in zip(hello.images, message.descriptors.dropFirst()) {
      descriptors[index] = descriptor
    }
    let process = AttachedProcess(number: number, facts: facts, ring: ring, census: census)
    return (process, ImageFile.list(images, descriptors: descriptors))
  }
}

/// The facts about an attaching process that crashd reads from `/proc`.
struct Surroundings: Sendable {
  var unit: String?
  var memory: MemoryEvents?
  var startTime: UInt64?
  var pidfdInode: UInt64?
  var image: ProcessImage?
  /// Whether the kernel would refuse a core dump of the process to the user that connected.
  var isRestricted = false
  var context = ProcessContext()

  /// Reads the facts about a process.
  ///
  /// If the parent has already reaped the process, the result contains only the pidfd's inode. In this case, the pid
  /// possibly already belongs to another process.
  static func of(_ peer: Peer, _ pidfd: Descriptor?) -> Surroundings {
    let unknown = ProcessContext(machine: MachineFacts.here)
    guard let pidfd else { return Surroundings(context: unknown) }
    let pid = peer.pid
    let inode = cd_process_inode(pidfd.number)
    let pidfdInode = inode == 0 ? nil : inode
    // The process is not in crashd's pid namespace, so crashd's /proc does not show it.
    if pid == 0 { return Surroundings(pidfdInode: pidfdInode, context: unknown) }
    let owner = ProcessOwner.of(pid: pid)
    let stat = ProcessStat.read(pid: pid)
    let groups = SmallFile.text(at: "/proc/\(pid)/cgroup")
    let found = Surroundings(
      unit: groups.flatMap(ProcessUnit.parse),
      memory: groups.flatMap { MemoryEvents.of(cgroups: $0) { SmallFile.text(at: $0) } },
      startTime: stat?.startTime, pidfdInode: pidfdInode, image: ProcessImage.of(pid: pid, pidfd),
      isRestricted: ProcessOwner.isRestricted(owner, stat, user: peer.uid),
      context: groups.map { ProcessContext(machine: MachineFacts.here, cgroups: $0) } ?? unknown)
    // Check after all reads that the process still exists. If the process exists, the pid belonged to this process
    // during all reads.
    return cd_process_exists(pidfd.number) ? found : Surroundings(pidfdInode: pidfdInode, context: unknown)
  }
}

extension ProcessFacts {
  /// Makes the facts about a process from its ring, from the kernel and from `/proc`.
  ///
  /// For a process outside of crashd's pid namespace, the kernel reports the pid 0. In this case, the pid comes from
  /// the ring, into which the process itself wrote it.
  static func introduced(
    by ring: RingSource, peer: Peer, pidfd: Descriptor?
  ) -> (facts: ProcessFacts, images: [RingContents.Image]) {
    let (identity, images) = ring.introduction()
    var facts = ProcessFacts(identity, images, peer: peer, surroundings: Surroundings.of(peer, pidfd))
    if peer.pid == 0 { (facts.peer.pid, facts.isPIDClaimed) = (identity.pid, true) }
    facts.context.container = .merged(facts.context.container, claims: ring.firstAnnotations())
    return (facts, images)
  }

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

/// The owner of a process's files in `/proc` (proc(5)).
///
/// For a dumpable process, the owner is the effective user. Otherwise, the owner is root (of the process's user
/// namespace). The directory `/proc/PID` itself always belongs to the effective user, so crashd reads the owner of a
/// file in it. A process is not dumpable if it was started with set-user-id or file capabilities, has changed its user,
/// or has called `prctl(PR_SET_DUMPABLE, 0)`. crashd asks the kernel for the owner, because crashd does not trust
/// reports of the library in the process.
enum ProcessOwner {
  static func of(pid: Int32) -> UInt32? {
    var status = stat()
    // stat writes at most one struct stat.
    return unsafe stat("/proc/\(pid)/stat", &status) == 0 ? status.st_uid : nil
  }

  /// Whether the kernel would refuse to give `user` a core dump of the process.
  ///
  /// - Parameters:
  ///   - owner: The owner of the process's files; nil if `/proc` hides the process.
  ///   - stat: The state of the process, which must be read after the owner was read. The files of an exiting process
  ///     always belong to root, so their owner does not show whether the process was dumpable.
  ///   - user: The user that connected.
  /// - Returns: Whether the core dump is refused; false if this cannot be determined.
  static func isRestricted(_ owner: UInt32?, _ stat: ProcessStat?, user: UInt32) -> Bool {
    guard let owner, let stat, !stat.isExiting else { return false }
    return owner != user
  }
}

/// Finds the systemd unit of a process.
enum ProcessUnit {
  /// Returns the name of the innermost `….service` in the control group hierarchy of systemd.
  ///
  /// The line of this hierarchy begins with `0::` for cgroup v2, and contains `name=systemd` for cgroup v1.
  static func parse(_ text: String) -> String? {
    let named = ControlGroup.list(text).filter { $0.controllers.isEmpty || $0.controllers == "name=systemd" }
    for group in named.sorted(by: { $0.controllers.utf8.count > $1.controllers.utf8.count }) {
      let names = group.path.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init)
      let unit = names.last { $0.hasSuffix(".service") }
      // Sanitize the name, because users choose the names of the control groups below their own session.
      if let unit { return CleanText.line(String(unit)) }
    }
    return nil
  }
}
