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
  /// Rings in all: of attached processes, of ended ones, and of those that are being analyzed.
  public var rings = 6_144
  /// Those of one user who is not root: as many as may be attached, and as many again of ended processes.
  public var ringsPerUser = 2_048
  /// Connections that have not sent a hello yet, in all.
  public var greetings = 1024
  /// Connections of one user that have not sent a hello yet.
  public var greetingsPerUser = 64
  /// The time-out of a hello.
  public var greeting_ms = 5_000
  /// Wake-ups of one process that brought nothing new, before later ones are ignored.
  public var emptyWakes = 100
  /// How long crashd remembers that symbolication of a list of images was started.
  public var recentImages_ms = 1_000
  /// Time between two readings of the counters of protected classes, and of the incidents of a process that does not
  /// announce them.
  public var observation_ms = 30_000
  /// Time between two readings of a ring for incidents that its process announced.
  public var incidentPause_ms = 250
  /// The longest that announced incidents wait because their user has exceeded its share of the time.
  public var incidentWait_ms = 30_000
  /// Rings of one user whose announced incidents wait to be read; those of others are read with unannounced incidents.
  public var incidentWaitsPerUser = 256
  /// Ended processes that `AwaitProcess` still knows.
  public var endedProcesses = 1024

  /// How long a policy change waits for the processes that it affects.
  public var control_ms = 2_000
  /// How long the notice of the last crash waits for the report of an earlier process of the program.
  public var lastCrash_ms = 30_000
  /// Programs whose dangling statistics are kept, in all.
  public var danglingServices = 1_024
  /// Those of one user who is not root.
  public var danglingServicesPerUser = 64

  /// Rings that are read, symbolicated and stored concurrently.
  public var looks = 6
  /// Those of one user.
  public var looksPerUser = 5
  /// Time that the rings of one user may take at once.
  ///
  /// Later ones get a lower priority, or, for announced incidents, which have an account of their own, wait.
  public var lookBurst_ms = 200
  /// Their share of 100 ms of time, in the long run.
  public var lookShare_percent = 25
  /// The most that one of them is charged: it may have waited for symbols.
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

  /// Threads that wait for file systems that processes chose.
  public var foreignThreads = 32
  /// Those of one user.
  public var foreignThreadsPerUser = 4
  /// Work of one user that waits for them; beyond it, the user's processes are refused.
  public var foreignWorkPerUser = 1_024
  /// That of root and of crashd's own user.
  public var trustedForeignWork = 4_096

  /// Image descriptors held for symbol jobs.
  public var heldDescriptors = 2048
  /// Symbol jobs of one user that wait.
  public var symbolJobsPerUser = 1024
  /// Concurrent symbol jobs.
  ///
  /// Of these and of the other jobs below, `places` reserves one for root and for crashd's own user.
  public var symbolJobs = 4
  /// Concurrent symbol jobs of one user: fewer than in all, so that slow images do not block another user's.
  public var symbolJobsAtOncePerUser = 2
  /// Concurrent symbol jobs that only cover the frames of one crash.
  public var hastySymbolJobs = 4
  /// Those of one user.
  public var hastySymbolJobsPerUser = 2
  /// The time-out of such a job.
  public var hastySymbolJob_ms = 5_000
  /// Addresses of one such job: they are on its command line.
  public var hastyAddresses = 4_096
  /// The time-out of one symbol job.
  public var symbolJob_ms = 60_000
  /// How long a file system may take to open an image that a process names, before the image counts as missing.
  public var imageLook_ms = 20_000
  /// How long a crash waits for the symbols that its frames need.
  public var symbolWait_ms = 20_000
  /// Bytes of the names that are checked in one report, and of the names that crashd caches.
  public var judgedNamesBytes = 4 << 20
  /// The time-out for checking the names of one report.
  public var judgeNames_ms = 5_000
  /// Faults whose variables are described concurrently; others go without.
  public var scopes = 4
  /// Those of one user.
  public var scopesPerUser = 2
  /// The time-out for describing the variables of one fault.
  public var scope_ms = 5_000
  /// Crashes that are listed while they wait for their symbols.
  public var preliminaryReports = 32
  /// Those of one user.
  public var preliminaryReportsPerUser = 8
  /// Frames of one of them.
  public var preliminaryFrames = 4_096
  /// Reports that are rebuilt when their symbols arrive late.
  public var lateReports = 256
  /// Symbol caches kept open.
  public var openCaches = 512
  /// Symbol caches kept on disk: those for all users, and those of each user.
  public var cacheDirectoryBytes = 4 << 30
  /// All of them together.
  public var cacheBytes = 8 << 30

  /// The time-out for one server to send the debug information of one build.
  public var fetch_ms = 120_000
  /// How long `crash-fetch` may take in addition, to resolve the servers' addresses.
  public var fetchStart_ms = 30_000
  /// Debug information of one build, as a server sends it: that of a server of 146 MB has 68 MB.
  public var fetchBytes = 1 << 30
  /// Builds that wait to be requested from servers; further ones wait for another process.
  public var waitingFetches = 1_024
  /// Builds for which crashd remembers the time of the last request.
  public var rememberedFetches = 8_192
  /// How long the same build is not requested again.
  public var fetchAgain_ms = 3_600_000

  /// Images of one user that wait for the extraction of their unwind tables.
  public var unwindTablesPerUser = 1024
  /// Images whose unwind tables are extracted concurrently.
  public var unwindTableJobs = 3
  /// Those of one user.
  public var unwindTableJobsPerUser = 1
  /// The time-out for extracting the unwind tables of one image.
  public var unwindTables_ms = 10_000
  /// How long an unwind cross-check waits for its tables.
  public var unwindTablesWait_ms = 5_000
  /// Concurrent unwind cross-checks.
  public var unwinds = 3
  /// Unwind cross-checks that wait; further ones are dropped.
  public var waitingUnwinds = 256
  /// Unwind cross-checks of one user that run or wait.
  public var unwindsPerUser = 32
  /// An unwind cross-check starts after so long without a ring to read: between two crashes of a storm there is no such
  /// pause.
  public var unwindQuiet_ms = 20
  /// How long an unwind cross-check waits for that pause; then it starts when no ring waits.
  public var unwindPatience_ms = 5_000
  /// The time-out of the unwind cross-check of one report.
  public var unwind_ms = 10_000
  /// Unwind files that one cross-check has open: the images that a ring can name.
  public var imagesOfOneRing = 512
  /// The input of one unwind cross-check.
  public var unwindRequestBytes = 64 << 20

  /// Varlink connections in all.
  public var connections = 512
  /// Varlink connections of one user who is not root.
  public var connectionsPerUser = 64
  /// One Varlink call: its parameters are few and short, and a longer one costs crashd time.
  public var messageBytes = 16 << 10
  /// How long one reply may wait for its reader, before crashd disconnects the reader.
  public var write_ms = 10_000
  /// How long a collector may take to accept an event, and to acknowledge one of the sent events.
  public var collector_ms = 10_000
  /// Reports in one reply of `List`.
  public var listReports = 1_000
  /// Events read from the store at once for a subscriber.
  public var eventBatch = 16
  /// Bytes of them, unless a single event is larger.
  public var eventBatchBytes = 4 << 20
  /// Subscribers of one user who is not root that hold events at the same time; the others wait.
  public var eventPagesPerUser = 4

  /// Users whose losses and refusals are remembered, and kinds of log lines.
  public var rememberedRefusals = 1_024

  /// Other descriptors of crashd: the store, its sockets, pipes of children.
  public var otherDescriptors = 128

  /// CPU time that crashd spends on the calls of one user at once, before further calls wait.
  public var callBurst_ms = 500
  /// Their share of 100 ms of time, in the long run.
  public var callShare_percent = 25

  /// The charge of a connection in addition to its calls.
  public var connectionCharge_us = 1_000
  /// CPU time that crashd's children spend on the images of one user at once, before further ones wait.
  public var childBurst_ms = 120_000
  /// Their share of 100 ms of time, in the long run.
  public var childShare_percent = 25

  /// Decides which uids count as one user.
  var accounts = UserAccounts.system

  /// The default limits.
  public init() {}

  /// How many of all permits a user may take: a sixteenth, at least one, is reserved for root and for crashd's own
  /// user.
  func places(_ all: Int, for uid: UInt32) -> Int {
    UserAccounts.isTrusted(uid) ? all : Self.placesOfOthers(all)
  }

  /// The permits without that reserve.
  static func placesOfOthers(_ all: Int) -> Int { all < 2 ? all : all - max(1, all / 16) }

  /// Whether a user may take one more of `all` permits, beside those of the given accounts, with `most` for one
  /// account.
  func hasPlace(_ uid: UInt32, beside taken: some Collection<UInt32>, of all: Int, most: Int) -> Bool {
    let account = account(of: uid)
    return taken.count < places(all, for: uid) && taken.count { $0 == account } < most
  }

  /// The account of a uid, see `UserAccounts`.
  func account(of uid: UInt32) -> UInt32 { accounts.account(of: uid) }

  /// The descriptors that all of this needs at most: `LimitNOFILE=` of the unit is no less.
  public var descriptors: Int {
    // A process has its ring, its connection and its pidfd; one that has ended its ring and its pidfd.
    // Symbol jobs and unwind table jobs hold as many each, and each unwind cross-check has the files of a ring's
    // images.
    rings + 2 * processes + endings + greetings + 2 * heldDescriptors + openCaches + unwinds * imagesOfOneRing
      + connections + otherDescriptors
  }
}
