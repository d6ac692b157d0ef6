import CrashRing
import LinuxSystem
import Synchronization

/// What crashd knows of a process: its credentials from the kernel, the rest from the ring.
struct ProcessFacts: Sendable {
  var peer: Peer
  var identity: RingContents.Identity
  /// The build id of the executable.
  var buildID: String
  var unit: String?
  /// The counter of kills for lack of memory.
  var memory: MemoryEvents?
  /// In the kernel's ticks; nil when `/proc` did not show it.
  var startTime: UInt64?
  /// The inode of its pidfd, also after its end; nil before Linux 6.9.
  var pidfdInode: UInt64?
  /// The program that it ran when it attached.
  var image: ProcessImage?
  /// The kernel would not have dumped it for its user when it attached.
  var isRestricted = false
  /// The pid is only claimed by the ring: no process has connected.
  var isPIDClaimed = false
  /// When the events in its ring can have happened; nil: any time.
  var times: TimeBounds?
  /// Where it ran, as known at the attach.
  var context = ProcessContext()

  /// Whether both are one process: no two have the same pid and start time, or the same pidfd inode.
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

/// Counts the held rings, and so their descriptors: of attached processes, of ended ones whose exit status is not known
/// yet, and of those that are being analyzed.
final class RingCensus: Sendable {
  private let held = Mutex<[UInt32: Int]>([:])

  /// The number of all rings, and of those of some uids.
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

/// The source of a process's bytes: its memfd, or a spool file.
struct RingSource: Sendable {
  let descriptor: Descriptor
  let mapping: RingMapping

  /// Reads its current contents, without touching unused parts.
  func contents(hasEnded: Bool = true) -> RingContents {
    mapping.contents(usedBy: descriptor.number, hasEnded: hasEnded)
  }

  /// What its records currently store of its memory.
  func memoryMode() -> RingContents.MemoryFacts.Mode { mapping.memoryMode() }

  /// Whether the process wakes crashd for incidents; false also for an older library that cannot.
  func announcesIncidents() -> Bool { mapping.announcesIncidents() }

  /// Whether its library understands the message about the last crash.
  func takesLastCrash() -> Bool { mapping.takesLastCrash() }

  /// The result of the last guard self-test; nil: there was none.
  func guardSelfTest() -> GuardSelfTest? { mapping.guardSelfTest() }

  /// The identity of the process, and its images.
  func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) { mapping.introduction() }

  /// The stamp, which changes with the records.
  func stamp() -> RingStamp { mapping.stamp(usedBy: descriptor.number) }

  /// Keeps its pages between the readings of `body`.
  func withPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.keepPages()
    defer { mapping.letGoOfPages() }
    return await body()
  }

  /// Inside of `withPages`: releases the pages while `body` runs.
  func withoutPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.letGoOfPages()
    defer { mapping.keepPages() }
    return await body()
  }

  /// Reads only non-fatal incidents.
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

/// A process that sent a hello, or left a spool file: the handle that the attach thread and the pipeline share.
final class AttachedProcess: Sendable {
  let number: UInt64
  let facts: ProcessFacts
  let ring: RingSource
  let attachTime = Moment.now()
  /// The times of its crashes.
  let crashTimes = CrashTimes()
  /// What it uses.
  let readings = ProcessReadings()
  /// Set by the attach thread at a wake-up, cleared by the pipeline before it reads.
  ///
  /// So its queue is as short as the number of processes, whatever a process sends.
  let isAnnounced = Atomic(false)
  /// The same for a wake-up for incidents.
  let hasNewIncidents = Atomic(false)
  /// The socket was closed, or the process has ended: the ring is complete.
  let hasEnded = Atomic(false)
  /// Its answers to crashd's control messages.
  let control = ControlOutcome()
  /// The name that its descriptors are stored under; set once, before other threads have the object.
  private let kept = Mutex<String?>(nil)
  private let census: RingCensus?
  /// The ring comes from a stored record, from which withheld memory is already removed.
  let isStored: Bool

  /// Where it ran, and what it used at its crash.
  var context: ProcessContext { readings.added(to: facts.context) }
  /// The same, and what it used last.
  var endContext: ProcessContext { readings.added(to: facts.context, isOfCrash: false) }

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
