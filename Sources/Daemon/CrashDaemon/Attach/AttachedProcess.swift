import CrashRing
import LinuxSystem
import Synchronization

/// The facts about a process.
///
/// The credentials come from the kernel, the environment from `/proc`, and the identity from the ring, the shared
/// memory into which the process writes crash records.
struct ProcessFacts: Sendable {
  var peer: Peer
  var identity: RingContents.Identity
  /// The build id of the executable.
  var buildID: String
  var unit: String?
  /// The counter of OOM kills in the control group of the process.
  var memory: MemoryEvents?
  /// The start time in ticks of the kernel since boot; nil if `/proc` did not contain it.
  var startTime: UInt64?
  /// The inode of the pidfd, which stays the same after the process has ended; nil before Linux 6.9.
  var pidfdInode: UInt64?
  /// The program file that the process ran when it attached.
  var image: ProcessImage?
  /// Whether the kernel would have refused to give the user a core dump of the process when it attached.
  var isRestricted = false
  /// Whether the pid comes only from the ring, and the kernel did not confirm it.
  ///
  /// The value is true if the process did not connect, or if crashd's pid namespace does not contain the process.
  var isPIDClaimed = false
  /// Whether a client imported the crash record as text (a record line).
  var isImported = false
  /// The numbers of items that did not fit into the record line, by the kind of loss.
  var cut: [String: Int] = [:]
  /// The range of times at which the events in the ring can have happened; nil if any time is possible.
  var times: TimeBounds?
  /// The environment of the process, as it was at the attach.
  var context = ProcessContext()

  /// Whether this value and `other` describe the same kernel process.
  ///
  /// Two processes never have the same pid and start time, and never the same pidfd inode.
  func isSameProcess(as other: ProcessFacts) -> Bool {
    peer.pid != 0 && peer.pid == other.peer.pid
      && ((startTime != nil && startTime == other.startTime)
        || (pidfdInode != nil && pidfdInode == other.pidfdInode))
  }
}

extension ProcessFacts {
  /// Returns the facts with bounds for the times in the ring.
  ///
  /// A stored report does not need bounds, because crashd checked its times before it stored the report for the first
  /// time.
  fileprivate func bounded(isStored: Bool) -> ProcessFacts {
    var facts = self
    if facts.times == nil { facts.times = isStored ? TimeBounds() : .attached(startTime: startTime) }
    return facts
  }
}

/// Counts the rings that crashd holds, because each ring needs a descriptor.
///
/// The census counts the rings of attached processes, of ended processes whose exit status is not known yet, and of
/// processes that crashd is analyzing.
final class RingCensus: Sendable {
  private let held = Mutex<[UInt32: Int]>([:])

  /// Returns the number of all rings, and the number of rings for whose uid `isOwn` returns true.
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

/// The file that contains a process's ring: its memfd, or a file that the process left in the spool directory.
struct RingSource: Sendable {
  let descriptor: Descriptor
  let mapping: RingMapping

  /// Reads the current contents of the ring, without reading its unused parts.
  func contents(hasEnded: Bool = true) -> RingContents {
    mapping.contents(usedBy: descriptor.number, hasEnded: hasEnded)
  }

  /// Returns how much of the process's memory its records currently contain.
  func memoryMode() -> RingContents.MemoryFacts.Mode { mapping.memoryMode() }

  /// Returns the numbers of requests since the process started.
  func requestCounts() -> RingContents.RequestCounts { mapping.requestCounts() }

  /// Returns the numbers of requests of the process, from which crashd computes the health of the process's build.
  ///
  /// The result contains the release and the environment of the program only if `withNames` is true.
  func healthFigures(withNames: Bool = true) -> RingContents.HealthFigures {
    mapping.healthFigures(usedBy: descriptor.number, withNames: withNames)
  }

  /// Returns the running and trapped requests with the given numbers.
  func requests(numbered numbers: Set<UInt64>) -> [RingContents.Request] {
    mapping.requests(numbered: numbers, usedBy: descriptor.number)
  }

  /// Returns the mode and the counts of containment, with which a trap ends a request instead of the process; nil if
  /// containment is off.
  func containment() -> RingContents.Containment? { mapping.containment() }

  /// Whether the process wakes crashd when it records incidents (faults that it survived).
  ///
  /// Older versions of the library do not send these wake-ups.
  func announcesIncidents() -> Bool { mapping.announcesIncidents() }

  /// Whether crashd can send the process a message about the program's last crash (the last-crash notice).
  func takesLastCrash() -> Bool { mapping.takesLastCrash() }

  /// Returns the result of the last self-test of the guards; nil if the process has not run the self-test.
  func guardSelfTest() -> GuardSelfTest? { mapping.guardSelfTest() }

  /// Reads the identity of the process and its images.
  func introduction() -> (identity: RingContents.Identity, images: [RingContents.Image]) { mapping.introduction() }

  /// Reads the annotations that the process read from its environment.
  func firstAnnotations() -> [String: String] { mapping.firstAnnotations(usedBy: descriptor.number) }

  /// Returns the stamp of the ring: a value that differs from an earlier stamp if a record has changed.
  func stamp() -> RingStamp { mapping.stamp(usedBy: descriptor.number) }

  /// Keeps in memory the pages of the ring that `body` reads, until `body` returns.
  ///
  /// Without this function, each read of the ring would release the pages, which is expensive.
  func withPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.keepPages()
    defer { mapping.letGoOfPages() }
    return await body()
  }

  /// Releases the pages of the ring from memory while `body` runs.
  ///
  /// Precondition: the caller runs inside `withPages`.
  func withoutPages<Value>(_ body: () async -> Value) async -> Value {
    mapping.letGoOfPages()
    defer { mapping.keepPages() }
    return await body()
  }

  /// Reads only the incidents and the protected classes of the ring, and its images if there are incidents.
  func observations() -> (incidents: [Incident], classes: [ProtectedClass], images: [RingContents.Image]) {
    mapping.observations(usedBy: descriptor.number)
  }

  /// Maps the ring in a memfd that a process sent.
  init(memory descriptor: Descriptor) throws(RingError) {
    mapping = try RingMapping(descriptor: descriptor.number)
    self.descriptor = descriptor
  }

  /// Maps the ring in a spool file.
  init(file descriptor: Descriptor) throws(RingError) {
    mapping = try RingMapping(spoolFile: descriptor.number)
    self.descriptor = descriptor
  }
}

/// A process that sent a hello (its first message to crashd) or left a spool file.
///
/// The attach thread and the pipeline share this object.
final class AttachedProcess: Sendable {
  let number: UInt64
  let facts: ProcessFacts
  let ring: RingSource
  let attachTime = Moment.now()
  /// The times that the process reported for its crashes and incidents.
  let crashTimes = CrashTimes()
  /// The readings of the process's resource usage.
  let readings = ProcessReadings()
  /// The attach thread sets this flag when the process sends a wake-up (a message that announces a record).
  ///
  /// The pipeline clears the flag before it reads the ring.
  ///
  /// Because of the flag, the pipeline's queue contains at most one event for each process, even if the process sends
  /// many wake-ups.
  let isAnnounced = Atomic(false)
  /// The same flag as `isAnnounced`, but for wake-ups that announce incidents.
  let hasNewIncidents = Atomic(false)
  /// The attach thread sets this flag after the socket was closed or the process ended.
  ///
  /// After the flag is set, crashd treats the ring as complete.
  let hasEnded = Atomic(false)
  /// The outcome of crashd's control messages to the process, according to the answers of the process.
  let control = ControlOutcome()
  /// The name under which systemd stores the descriptors.
  private let kept = Mutex<String?>(nil)
  private let census: RingCensus?
  /// Whether the ring comes from a stored report.
  ///
  /// Memory that must not be stored was already removed from such a ring.
  let isStored: Bool
  /// Whether the process had already ended when this crashd attached it.
  ///
  /// The time of such an end is unknown.
  let hadEnded: Bool
  /// The time at which the connection of the process was closed, in CLOCK_MONOTONIC; 0 while it is open.
  let endTime_ns = Atomic<UInt64>(0)

  /// The environment of the process, with its resource usage at the last crash.
  var context: ProcessContext { readings.added(to: facts.context) }
  /// The environment of the process, with its last known resource usage.
  var endContext: ProcessContext { readings.added(to: facts.context, isOfCrash: false) }

  var keptName: String? {
    get { kept.withLock { $0 } }
    set { kept.withLock { $0 = newValue } }
  }

  init(
    number: UInt64, facts: ProcessFacts, ring: RingSource, census: RingCensus? = nil, isStored: Bool = false,
    hadEnded: Bool = false
  ) {
    self.isStored = isStored
    self.hadEnded = hadEnded
    self.number = number
    self.facts = facts.bounded(isStored: isStored)
    self.ring = ring
    self.census = census
    census?.add(1, facts.peer.uid)
  }

  deinit { census?.add(-1, facts.peer.uid) }
}
