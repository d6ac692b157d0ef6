import CrashRing
import LinuxSystem
import Synchronization

/// The facts about a process: its credentials from the kernel, its environment from `/proc`, and its identity from the
/// ring.
struct ProcessFacts: Sendable {
  var peer: Peer
  var identity: RingContents.Identity
  /// The build id of the executable.
  var buildID: String
  var unit: String?
  /// The counter of OOM kills in the process's control group.
  var memory: MemoryEvents?
  /// The start time in the kernel's ticks since boot; nil if `/proc` did not show it.
  var startTime: UInt64?
  /// The inode of the pidfd, which stays the same after the process's end; nil before Linux 6.9.
  var pidfdInode: UInt64?
  /// The program that the process ran when it attached.
  var image: ProcessImage?
  /// Whether the kernel would have refused its user a core dump when the process attached.
  var isRestricted = false
  /// Whether the pid comes only from the ring, because no process has connected.
  var isPIDClaimed = false
  /// The times at which the events in the ring can have happened; nil if any time is possible.
  var times: TimeBounds?
  /// The environment of the process, as read at the attach.
  var context = ProcessContext()

  /// Whether both describe the same process.
  ///
  /// Two processes never share pid and start time, or the pidfd inode.
  func isSameProcess(as other: ProcessFacts) -> Bool {
    peer.pid != 0 && peer.pid == other.peer.pid
      && ((startTime != nil && startTime == other.startTime)
        || (pidfdInode != nil && pidfdInode == other.pidfdInode))
  }
}

extension ProcessFacts {
  /// Sets the time bounds.
  ///
  /// A stored report needs none, because its times were checked before it was stored.
  fileprivate func bounded(isStored: Bool) -> ProcessFacts {
    var facts = self
    if facts.times == nil { facts.times = isStored ? TimeBounds() : .attached(startTime: startTime) }
    return facts
  }
}

/// Counts the rings that crashd holds, each of which costs a descriptor.
///
/// These are the rings of attached processes, of ended processes whose exit status is not known yet, and of processes
/// that are being analyzed.
final class RingCensus: Sendable {
  private let held = Mutex<[UInt32: Int]>([:])

  /// The number of all rings, and of the rings whose uid `isOwn` accepts.
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

/// The file with a process's ring: its memfd, or a spool file.
struct RingSource: Sendable {
  let descriptor: Descriptor
  let mapping: RingMapping

  /// Reads the current contents of the ring, without touching its unused parts.
  func contents(hasEnded: Bool = true) -> RingContents {
    mapping.contents(usedBy: descriptor.number, hasEnded: hasEnded)
  }

  /// How much of the process's memory its records currently store.
  func memoryMode() -> RingContents.MemoryFacts.Mode { mapping.memoryMode() }

  /// Whether the process wakes crashd for incidents.
  ///
  /// An older library cannot do that.
  func announcesIncidents() -> Bool { mapping.announcesIncidents() }

  /// Whether the library in the process accepts the message about the last crash.
  func takesLastCrash() -> Bool { mapping.takesLastCrash() }

  /// The result of the last guard self-test; nil if none has run.
  func guardSelfTest() -> GuardSelfTest? { mapping.guardSelfTest() }

  /// The identity of the process, and its images.
  func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) { mapping.introduction() }

  /// The stamp of the ring, which changes when a record changes.
  func stamp() -> RingStamp { mapping.stamp(usedBy: descriptor.number) }

  /// Keeps the pages that `body` reads resident until `body` ends, because releasing pages after each reading is
  /// expensive.
  func withPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.keepPages()
    defer { mapping.letGoOfPages() }
    return await body()
  }

  /// Releases the pages while `body` runs.
  ///
  /// Use it only inside `withPages`.
  func withoutPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.letGoOfPages()
    defer { mapping.keepPages() }
    return await body()
  }

  /// Reads only the non-fatal incidents, and the classes and images that they need.
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

/// A process that sent a hello or left a spool file.
///
/// The attach thread and the pipeline share this object.
final class AttachedProcess: Sendable {
  let number: UInt64
  let facts: ProcessFacts
  let ring: RingSource
  let attachTime = Moment.now()
  /// The reported times of the process's crashes and incidents.
  let crashTimes = CrashTimes()
  /// The readings of its resource use.
  let readings = ProcessReadings()
  /// The attach thread sets this flag at a wake-up, and the pipeline clears it before it reads the ring.
  ///
  /// The flag limits the pipeline's queue to one event for each process, however many wake-ups a process sends.
  let isAnnounced = Atomic(false)
  /// Like `isAnnounced`, for a wake-up for incidents.
  let hasNewIncidents = Atomic(false)
  /// Set when the socket was closed or the process has ended.
  ///
  /// The ring is then complete.
  let hasEnded = Atomic(false)
  /// The answers of the process to crashd's control messages.
  let control = ControlOutcome()
  /// The name under which the descriptors are stored.
  private let kept = Mutex<String?>(nil)
  private let census: RingCensus?
  /// Whether the ring comes from a stored record, from which withheld memory is already removed.
  let isStored: Bool

  /// The environment of the process, with its resource use at the last crash.
  var context: ProcessContext { readings.added(to: facts.context) }
  /// The environment of the process, with its last resource use.
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
