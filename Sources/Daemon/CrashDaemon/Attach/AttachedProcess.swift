import CrashRing
import LinuxSystem
import Synchronization

/// What crashd knows of a process: from the kernel who it is, from the ring the rest.
struct ProcessFacts: Sendable {
  var peer: Peer
  var identity: RingContents.Identity
  /// Of the executable.
  var buildID: String
  var unit: String?
  /// Who counts when the kernel kills for memory.
  var memory: MemoryEvents?
  /// In the kernel's ticks; nil when `/proc` did not tell.
  var startTime: UInt64?
  /// Of its pidfd, also when it has ended; nil before Linux 6.9.
  var pidfdInode: UInt64?
  /// The program that it ran when it attached.
  var image: ProcessImage?
  /// The kernel would not dump it for its user, as it said when the process attached.
  var isRestricted = false
  /// The peer's pid is claimed by the ring: no process has connected.
  var isPIDClaimed = false
  /// When what its ring tells can have happened; nil: whenever it says.
  var times: TimeBounds?

  /// Both are one process: no two have a pid and a start time, or the inode of a pidfd.
  func isSameProcess(as other: ProcessFacts) -> Bool {
    peer.pid != 0 && peer.pid == other.peer.pid
      && ((startTime != nil && startTime == other.startTime)
        || (pidfdInode != nil && pidfdInode == other.pidfdInode))
  }
}

extension ProcessFacts {
  /// A stored report has its time, which was checked before it was stored.
  fileprivate func bounded(isStored: Bool) -> ProcessFacts {
    var facts = self
    if facts.times == nil { facts.times = isStored ? TimeBounds() : .attached(startTime: startTime) }
    return facts
  }
}

/// How many rings are held, and so their descriptors: of attached processes, of those that have ended and wait for the
/// kernel to say how, and of those that are being analysed.
final class RingCensus: Sendable {
  private let held = Mutex<[UInt32: Int]>([:])

  /// In all, and those of some uids.
  func count(of isOwn: (UInt32) -> Bool) -> (all: Int, own: Int) {
    held.withLock { held in
      (held.values.reduce(0, +), held.reduce(0) { isOwn($1.key) ? $0 + $1.value : $0 })
    }
  }

  fileprivate func add(_ difference: Int, _ uid: UInt32) {
    held.withLock { held in
      let own = held[uid, default: 0] + difference
      held[uid] = own == 0 ? nil : own
    }
  }
}

/// Where the bytes of a process come from: its memfd, or a spool file.
struct RingSource: Sendable {
  let descriptor: Descriptor
  let mapping: RingMapping

  /// Everything that it holds now; what was never used is not touched.
  func contents(hasEnded: Bool = true) -> RingContents {
    mapping.contents(usedBy: descriptor.number, hasEnded: hasEnded)
  }

  /// What its records keep of its memory, as it says now.
  func memoryMode() -> RingContents.MemoryFacts.Mode { mapping.memoryMode() }

  /// Whether it wakes crashd for incidents; false also of a library from before it could.
  func announcesIncidents() -> Bool { mapping.announcesIncidents() }

  /// What its last self-test of its guards found; nil: there was none.
  func guardSelfTest() -> GuardSelfTest? { mapping.guardSelfTest() }

  /// Who it is, and its images.
  func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) { mapping.introduction() }

  /// What tells one state of its records from another.
  func stamp() -> RingStamp { mapping.stamp(usedBy: descriptor.number) }

  /// Keeps its pages between the readings of `body`.
  func withPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.keepPages()
    defer { mapping.letGoOfPages() }
    return await body()
  }

  /// Inside of `withPages`: lets go of the pages while `body` runs.
  func withoutPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.letGoOfPages()
    defer { mapping.keepPages() }
    return await body()
  }

  /// Only what was seen while the process went on.
  func observations() -> (incidents: [Incident], classes: [ProtectedClass], images: [RingContents.Image]) {
    mapping.observations(usedBy: descriptor.number)
  }

  /// Maps a memfd that a process sent.
  init(memory descriptor: Descriptor) throws(RingError) {
    mapping = try RingMapping(descriptor: descriptor.number)
    self.descriptor = descriptor
  }

  /// Reads a spool file.
  init(file descriptor: Descriptor) throws(RingError) {
    mapping = try RingMapping(spoolFile: descriptor.number)
    self.descriptor = descriptor
  }
}

/// A process that said hello, or left a spool file: the handle that the attach thread and the pipeline share.
final class AttachedProcess: Sendable {
  let number: UInt64
  let facts: ProcessFacts
  let ring: RingSource
  let attachTime = Moment.now()
  /// When its crashes happened.
  let crashTimes = CrashTimes()
  /// Raised by the attach thread with a wake-up, lowered by the pipeline before it reads: keeps its queue as short
  /// as the number of processes, whatever a process sends.
  let isAnnounced = Atomic(false)
  /// The same of a wake-up for incidents.
  let hasNewIncidents = Atomic(false)
  /// The socket was closed, or the process has ended: what the ring holds now is all.
  let hasEnded = Atomic(false)
  /// What it made of crashd's control messages.
  let control = ControlOutcome()
  /// What its descriptors are kept under while crashd is away; set once, before others know of it.
  private let kept = Mutex<String?>(nil)
  private let census: RingCensus?
  /// Its ring is a stored one: what was to be taken out of it was, before it was stored.
  let isStored: Bool

  var keptName: String? {
    get { kept.withLock { $0 } }
    set { kept.withLock { $0 = newValue } }
  }

  init(number: UInt64, facts: ProcessFacts, ring: RingSource, census: RingCensus? = nil, isStored: Bool = false) {
    self.isStored = isStored
    self.number = number
    self.facts = facts.bounded(isStored: isStored)
    self.ring = ring
    self.census = census
    census?.add(1, facts.peer.uid)
  }

  deinit { census?.add(-1, facts.peer.uid) }
}
