/// Every limit of crashd, named in one place.
public struct Limits: Sendable, Equatable {
  /// Attached processes in all.
  public var processes = 4096
  /// Attached processes of one user who is not root.
  public var processesPerUser = 1024
  /// Processes of one user who is not root that may attach in a minute; all of them at once, too.
  public var attachesPerMinute = 1_200
  /// Processes that have ended and whose exit status is not known yet: their parents have not waited for them.
  public var endings = 1024
  /// Those of one user who is not root.
  public var endingsPerUser = 256
  /// Rings in all: of attached processes, of those that have ended, and of those that are being analysed.
  public var rings = 6_144
  /// Those of one user who is not root: as many as may be attached, and as many again that have ended.
  public var ringsPerUser = 2_048
  /// Connections that have not said hello yet, in all.
  public var greetings = 1024
  /// Connections of one user that have not said hello yet.
  public var greetingsPerUser = 64
  /// How long a connection may take to say hello.
  public var greeting_ms = 5_000
  /// Wake-ups of one process that brought nothing new, before later ones are ignored.
  public var emptyWakes = 100
  /// How long it is remembered that the symbols of a list of images were asked for.
  public var recentImages_ms = 1_000
  /// Time between two readings of the counters of protected classes, and of the incidents of a process that does not
  /// announce them.
  public var observation_ms = 30_000
  /// Time between two readings of a ring for incidents that its process announced.
  public var incidentPause_ms = 250
  /// The most that announced incidents wait because their user has taken more than its share of the time.
  public var incidentWait_ms = 30_000
  /// Rings of one user whose announced incidents wait to be read; those of others are read with what is not announced.
  public var incidentWaitsPerUser = 256
  /// Processes that ended, of which `AwaitProcess` still knows.
  public var endedProcesses = 1024

  /// How long a change of a policy waits for the processes that it is about.
  public var control_ms = 2_000
  /// Programs whose dangling statistics are kept, in all.
  public var danglingServices = 1_024
  /// Those of one user who is not root.
  public var danglingServicesPerUser = 64

  /// Rings that are read, symbolicated and stored at once.
  public var looks = 6
  /// Those of one user.
  public var looksPerUser = 5
  /// Time that the rings of one user may take at once, before they are read with a lower priority, or, for announced
  /// incidents, which have an account of their own, later.
  public var lookBurst_ms = 200
  /// What they may take of 100 ms of time, in the long run.
  public var lookShare_percent = 25
  /// The most that one of them counts: it may have waited for symbols.
  public var lookCharge_ms = 100

  /// Reports that wait in memory while the store takes none.
  public var heldReports = 512
  /// Bytes of them.
  public var heldBytes = 48 << 20

  /// Spool files taken in one scan.
  public var spoolFiles = 4096
  /// Those of one user who is not root: as many as the user has rings.
  public var spoolFilesPerUser = 2_048
  /// Bytes of spool files of one user who is not root; of the file system's a quarter at most.
  public var spoolBytesPerUser = 256 << 20

  /// Threads that wait for file systems which processes chose.
  public var foreignThreads = 32
  /// Those of one user.
  public var foreignThreadsPerUser = 4
  /// Work of one user that waits for them; while there is as much, the user's processes are refused.
  public var foreignWorkPerUser = 1_024
  /// That of root and of crashd's own user.
  public var trustedForeignWork = 4_096

  /// Image descriptors held for symbol jobs.
  public var heldDescriptors = 2048
  /// Symbol jobs of one user that wait.
  public var symbolJobsPerUser = 1024
  /// Symbol jobs at once; of these and of the other jobs below, `places` keeps one for root and for crashd's own user.
  public var symbolJobs = 4
  /// Symbol jobs at once of one user: fewer than in all, so that slow images hold up no other user's.
  public var symbolJobsAtOncePerUser = 2
  /// Symbol jobs at once that know only the frames of one crash.
  public var hastySymbolJobs = 4
  /// Those at once of one user.
  public var hastySymbolJobsPerUser = 2
  /// How long one of them may take.
  public var hastySymbolJob_ms = 5_000
  /// Addresses of one such job: they stand on its command line.
  public var hastyAddresses = 4_096
  /// How long one symbol job may take.
  public var symbolJob_ms = 60_000
  /// How long a file system may take to open an image that a process names, before the image counts as missing.
  public var imageLook_ms = 20_000
  /// How long a crash waits for the symbols that its frames need.
  public var symbolWait_ms = 20_000
  /// Bytes of the names that are checked in one report, and of those that crashd remembers.
  public var judgedNamesBytes = 4 << 20
  /// How long it may take to check the names of one report.
  public var judgeNames_ms = 5_000
  /// Places of faults whose variables are described at once; others go without.
  public var scopes = 4
  /// Those of one user.
  public var scopesPerUser = 2
  /// How long it may take to describe the variables of one place.
  public var scope_ms = 5_000
  /// Crashes that are shown while they wait for their symbols.
  public var preliminaryReports = 32
  /// Those of one user.
  public var preliminaryReportsPerUser = 8
  /// Frames of one of them.
  public var preliminaryFrames = 4_096
  /// Reports that are made again when their symbols come late.
  public var lateReports = 256
  /// Symbol caches kept open.
  public var openCaches = 512
  /// Symbol caches kept on disk: those for all users, and those of each user.
  public var cacheDirectoryBytes = 4 << 30
  /// All of them together.
  public var cacheBytes = 8 << 30

  /// How long one server may take to send the debug information of one build.
  public var fetch_ms = 120_000
  /// How long `crash-fetch` may take besides, to look for the servers' addresses.
  public var fetchStart_ms = 30_000
  /// Debug information of one build, as a server sends it: that of a server of 146 MB has 68 MB.
  public var fetchBytes = 1 << 30
  /// Builds for whose debug information servers are still to be asked; later ones have to wait for another process.
  public var waitingFetches = 1_024
  /// Builds of which it is known when they were asked for.
  public var rememberedFetches = 8_192
  /// When servers may be asked for the same build again.
  public var fetchAgain_ms = 3_600_000

  /// Images of one user whose unwind tables wait to be taken.
  public var unwindTablesPerUser = 1024
  /// Images whose unwind tables are taken at once.
  public var unwindTableJobs = 3
  /// Those of one user.
  public var unwindTableJobsPerUser = 1
  /// How long taking the unwind tables of one image may take.
  public var unwindTables_ms = 10_000
  /// How long a second unwinding waits for the tables that it needs.
  public var unwindTablesWait_ms = 5_000
  /// Second unwindings at once.
  public var unwinds = 3
  /// Second unwindings that wait; later ones do not take place.
  public var waitingUnwinds = 256
  /// Second unwindings of one user that run or wait.
  public var unwindsPerUser = 32
  /// How long no ring was read when a second unwinding begins: in a storm there is none between two crashes.
  public var unwindQuiet_ms = 20
  /// How long a second unwinding waits for that; then it begins when no ring waits.
  public var unwindPatience_ms = 5_000
  /// How long the second unwinding of one report may take.
  public var unwind_ms = 10_000
  /// Unwind files that one of them has open: the images that a ring can name.
  public var imagesOfOneRing = 512
  /// What is handed to one second unwinding.
  public var unwindRequestBytes = 64 << 20

  /// Varlink connections in all.
  public var connections = 512
  /// Varlink connections of one user who is not root.
  public var connectionsPerUser = 64
  /// One Varlink call: each has a few short parameters, and a longer one costs crashd its time.
  public var messageBytes = 16 << 10
  /// How long one reply may wait for its reader, before the reader is cut off.
  public var write_ms = 10_000
  /// A collector has so long to take an event, and to acknowledge one of those that it has taken.
  public var collector_ms = 10_000
  /// Reports in one reply of `List`.
  public var listReports = 1_000
  /// Events read from the store at once for a subscriber.
  public var eventBatch = 16
  /// Bytes of them, unless one alone has more.
  public var eventBatchBytes = 4 << 20
  /// Subscribers of one user who is not root that hold events at the same time; the others wait.
  public var eventPagesPerUser = 4

  /// Users whose losses and refusals are remembered, and kinds of log lines.
  public var rememberedRefusals = 1_024

  /// What crashd has open besides: the store, its sockets, pipes of children.
  public var otherDescriptors = 128

  /// CPU time that crashd spends for the calls of one user at once, before later ones wait.
  public var callBurst_ms = 500
  /// What it spends of 100 ms of time, in the long run.
  public var callShare_percent = 25

  /// What a connection counts beside its calls.
  public var connectionCharge_us = 1_000
  /// CPU time that children of crashd spend on the images of one user at once, before later ones wait.
  public var childBurst_ms = 120_000
  /// What they spend of 100 ms of time, in the long run.
  public var childShare_percent = 25

  /// Which uids count as one user.
  var accounts = UserAccounts.system

  /// The limits that crashd uses.
  public init() {}

  /// How many of all places a user may take: a sixteenth, or one, is kept for root and for crashd's own user.
  func places(_ all: Int, for uid: UInt32) -> Int {
    UserAccounts.isTrusted(uid) ? all : Self.placesOfOthers(all)
  }

  /// Those that are not kept.
  static func placesOfOthers(_ all: Int) -> Int { all < 2 ? all : all - max(1, all / 16) }

  /// Whether a user may take one more of `all` places, beside those whose accounts are given, and `most` for one account.
  func hasPlace(_ uid: UInt32, beside taken: some Collection<UInt32>, of all: Int, most: Int) -> Bool {
    let account = account(of: uid)
    return taken.count < places(all, for: uid) && taken.count { $0 == account } < most
  }

  /// The uid under which a uid counts, see `UserAccounts`.
  func account(of uid: UInt32) -> UInt32 { accounts.account(of: uid) }

  /// How many descriptors all of this needs at most: `LimitNOFILE=` of the unit is no less.
  public var descriptors: Int {
    // A process has its ring, its connection and its pidfd; one that has ended its ring and its pidfd.
    // Symbol jobs and those for unwind tables hold as many each, and each unwinding has the files of a ring's images.
    rings + 2 * processes + endings + greetings + 2 * heldDescriptors + openCaches + unwinds * imagesOfOneRing
      + connections + otherDescriptors
  }
}
