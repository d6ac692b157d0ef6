/// Every limit of crashd, named in one place.
public struct Limits: Sendable, Equatable {
  /// Attached processes of all users.
  public var processes = 4096
  /// Attached processes of one user who is not root.
  public var processesPerUser = 1024
  /// Processes of one user who is not root that may attach in a minute, even if they all attach at once.
  public var attachesPerMinute = 1_200
  /// Ended processes whose exit status is not known yet, because their parents have not waited for them.
  public var endings = 1024
  /// Ended processes without an exit status, of one user who is not root.
  public var endingsPerUser = 256
  /// Rings of all users: of attached processes, of ended processes, and of processes that are being analyzed.
  public var rings = 6_144
  /// Rings of one user who is not root: as many as its attached processes, and as many again for ended processes.
  public var ringsPerUser = 2_048
  /// Connections of all users that have not sent a hello yet.
  public var greetings = 1024
  /// Connections of one user that have not sent a hello yet.
  public var greetingsPerUser = 64
  /// How long a new connection may take to send its hello.
  public var greeting_ms = 5_000
  /// Wake-ups of one process without a new record, before crashd ignores its later wake-ups.
  public var emptyWakes = 100
  /// How long crashd remembers that symbolication of a list of images was started.
  public var recentImages_ms = 1_000
  /// Time between two readings of a process's counters of protected classes, and of its incidents if it does not
  /// announce them.
  public var observation_ms = 30_000
  /// Time between two readings of a ring for incidents that its process announced.
  public var incidentPause_ms = 250
  /// The longest time that announced incidents wait because their user has exceeded its share of crashd's time.
  public var incidentWait_ms = 30_000
  /// Rings of one user whose announced incidents wait to be read; the incidents of further rings are read as if
  /// unannounced.
  public var incidentWaitsPerUser = 256
  /// Ended processes that `AwaitProcess` can still report.
  public var endedProcesses = 1024

  /// How long a policy change waits for the processes that it affects.
  public var control_ms = 2_000
  /// How long the notice of a program's last crash waits for the report of an earlier process of the program.
  public var lastCrash_ms = 30_000
  /// Programs of all users whose dangling statistics are kept.
  public var danglingServices = 1_024
  /// Programs of one user who is not root whose dangling statistics are kept.
  public var danglingServicesPerUser = 64

  /// Rings that are read, symbolicated and stored concurrently.
  public var looks = 6
  /// Concurrently read rings of one user.
  public var looksPerUser = 5
  /// Time that crashd may spend on the rings of one user at once.
  ///
  /// Beyond it, the user's rings get a lower priority. Announced incidents have a separate account, and wait.
  public var lookBurst_ms = 200
  /// The share of time that the rings of one user may take in the long run.
  public var lookShare_percent = 25
  /// The highest charge for one ring, whose time may include waiting for symbols.
  public var lookCharge_ms = 100

  /// Reports that wait in memory while the store cannot store them.
  public var heldReports = 512
  /// Bytes of the reports that wait in memory.
  public var heldBytes = 48 << 20

  /// Spool files that one scan processes.
  public var spoolFiles = 4096
  /// Spool files of one user who is not root: as many as the user has rings.
  public var spoolFilesPerUser = 2_048
  /// Bytes of spool files of one user who is not root, but at most a quarter of the file system.
  public var spoolBytesPerUser = 256 << 20

  /// Threads that work on files in file systems that processes chose.
  public var foreignThreads = 32
  /// Threads of one user that work on files in such file systems.
  public var foreignThreadsPerUser = 4
  /// Pieces of work of one user that wait for such a thread, before crashd refuses the user's processes.
  public var foreignWorkPerUser = 1_024
  /// Pieces of work of root or of crashd's own user that wait for such a thread.
  public var trustedForeignWork = 4_096

  /// Image descriptors that are held open for symbol jobs.
  public var heldDescriptors = 2048
  /// Waiting symbol jobs of one user.
  public var symbolJobsPerUser = 1024
  /// Concurrent symbol jobs.
  ///
  /// Of these and of the other jobs below, `places(_:for:)` reserves one for root and for crashd's own user.
  public var symbolJobs = 4
  /// Concurrent symbol jobs of one user: fewer than `symbolJobs`, so that slow images of one user do not block others.
  public var symbolJobsAtOncePerUser = 2
  /// Concurrent hasty symbol jobs, which cover only the frames of one crash.
  public var hastySymbolJobs = 4
  /// Concurrent hasty symbol jobs of one user.
  public var hastySymbolJobsPerUser = 2
  /// The time-out of a hasty symbol job.
  public var hastySymbolJob_ms = 5_000
  /// Addresses of one hasty symbol job, which crashd passes on the command line of the job.
  public var hastyAddresses = 4_096
  /// The time-out of one symbol job.
  public var symbolJob_ms = 60_000
  /// How long a file system may take to open an image that a process names, before the image counts as missing.
  public var imageLook_ms = 20_000
  /// How long a crash waits for the symbols that its frames need.
  public var symbolWait_ms = 20_000
  /// Bytes of the symbol names that are checked for one report, and bytes of the names that crashd caches.
  public var judgedNamesBytes = 4 << 20
  /// The time-out for checking the symbol names of one report.
  public var judgeNames_ms = 5_000
  /// Faults whose variables are described concurrently; further faults are reported without their variables.
  public var scopes = 4
  /// Concurrently described faults of one user.
  public var scopesPerUser = 2
  /// The time-out for describing the variables of one fault.
  public var scope_ms = 5_000
  /// Crashes whose preliminary reports are listed while they wait for their symbols.
  public var preliminaryReports = 32
  /// Preliminary reports of one user.
  public var preliminaryReportsPerUser = 8
  /// Frames of one preliminary report.
  public var preliminaryFrames = 4_096
  /// Reports that are rebuilt when their symbols arrive late.
  public var lateReports = 256
  /// Symbol caches that are kept open.
  public var openCaches = 512
  /// Bytes of symbol caches on disk, for the caches that all users share and for the caches of each user.
  public var cacheDirectoryBytes = 4 << 30
  /// Bytes of all symbol caches together.
  public var cacheBytes = 8 << 30

  /// The time-out for one server to send the debug information of one build.
  public var fetch_ms = 120_000
  /// How long `crash-fetch` may take to resolve the servers' addresses, in addition to `fetch_ms`.
  public var fetchStart_ms = 30_000
  /// Bytes of the debug information of one build, as a server sends it: for example 68 MB for a program of 146 MB.
  public var fetchBytes = 1 << 30
  /// Builds that wait to be requested from servers; a further build is requested when another process with it attaches.
  public var waitingFetches = 1_024
  /// Builds for which crashd remembers the time of the last request.
  public var rememberedFetches = 8_192
  /// How long crashd waits before it requests the same build again.
  public var fetchAgain_ms = 3_600_000

  /// Images of one user that wait for the extraction of their unwind tables.
  public var unwindTablesPerUser = 1024
  /// Images whose unwind tables are extracted concurrently.
  public var unwindTableJobs = 3
  /// Concurrent extractions of one user.
  public var unwindTableJobsPerUser = 1
  /// The time-out for extracting the unwind tables of one image.
  public var unwindTables_ms = 10_000
  /// How long an unwind cross-check waits for its unwind tables.
  public var unwindTablesWait_ms = 5_000
  /// Concurrent unwind cross-checks.
  public var unwinds = 3
  /// Waiting unwind cross-checks; further cross-checks are dropped.
  public var waitingUnwinds = 256
  /// Unwind cross-checks of one user that run or wait.
  public var unwindsPerUser = 32
  /// The pause without a ring to read after which an unwind cross-check starts, and which a storm of crashes never
  /// leaves.
  public var unwindQuiet_ms = 20
  /// How long an unwind cross-check waits for that pause; after this time, it starts as soon as no ring waits.
  public var unwindPatience_ms = 5_000
  /// The time-out of the unwind cross-check of one report.
  public var unwind_ms = 10_000
  /// Unwind files that one cross-check has open: as many as a ring can name images.
  public var imagesOfOneRing = 512
  /// Bytes of the input of one unwind cross-check.
  public var unwindRequestBytes = 64 << 20

  /// Varlink connections of all users.
  public var connections = 512
  /// Varlink connections of one user who is not root.
  public var connectionsPerUser = 64
  /// Bytes of one Varlink call; valid calls are shorter, and parsing a longer call would only cost time.
  public var messageBytes = 16 << 10
  /// How long one reply may wait until the client reads it, before crashd disconnects the client.
  public var write_ms = 10_000
  /// How long a collector may take to accept an event, and how long to acknowledge the next of the sent events.
  public var collector_ms = 10_000
  /// Reports in one reply of `List`.
  public var listReports = 1_000
  /// Events that are read from the store at once for a subscriber.
  public var eventBatch = 16
  /// Bytes of the events that are read at once, unless a single event is larger.
  public var eventBatchBytes = 4 << 20
  /// Subscribers of one user who is not root that hold events in memory at the same time, while its other subscribers
  /// wait.
  public var eventPagesPerUser = 4

  /// Users whose losses and refusals are counted, and kinds of log lines whose rate is limited.
  public var rememberedRefusals = 1_024

  /// Other descriptors of crashd: the store, listening sockets, pipes of child processes.
  public var otherDescriptors = 128

  /// CPU time that crashd spends at once on the calls of one user, before further calls wait.
  public var callBurst_ms = 500
  /// The share of a CPU's time that the calls of one user may take in the long run.
  public var callShare_percent = 25

  /// The CPU time that a connection is charged in addition to its calls.
  public var connectionCharge_us = 1_000
  /// CPU time that crashd's child processes spend at once on the images of one user, before further images wait.
  public var childBurst_ms = 120_000
  /// The share of a CPU's time that the images of one user may take in the long run.
  public var childShare_percent = 25

  /// Decides which uids count as one user.
  var accounts = UserAccounts.system

  /// The default limits.
  public init() {}

  /// How many of all permits a user may take.
  ///
  /// One sixteenth, and at least one, is reserved for root and crashd's own user.
  func places(_ all: Int, for uid: UInt32) -> Int {
    UserAccounts.isTrusted(uid) ? all : Self.placesOfOthers(all)
  }

  /// The permits without the reserve for root and crashd's own user.
  static func placesOfOthers(_ all: Int) -> Int { all < 2 ? all : all - max(1, all / 16) }

  /// Whether a user may take one more of `all` permits.
  ///
  /// `taken` has the account of each permit in use, and `most` is the limit of one account.
  func hasPlace(_ uid: UInt32, beside taken: some Collection<UInt32>, of all: Int, most: Int) -> Bool {
    let account = account(of: uid)
    return taken.count < places(all, for: uid) && taken.count { $0 == account } < most
  }

  /// The account that the limits of a uid apply to, see `UserAccounts`.
  func account(of uid: UInt32) -> UInt32 { accounts.account(of: uid) }

  /// The descriptors that crashd needs at most with these limits.
  ///
  /// `LimitNOFILE=` of the unit is at least this number.
  public var descriptors: Int {
    // A process has its ring, its connection and its pidfd. A process that has ended has its ring and its pidfd. Symbol
    // jobs and unwind table jobs hold up to `heldDescriptors` each. Each unwind cross-check opens the files of a ring's
    // images.
    rings + 2 * processes + endings + greetings + 2 * heldDescriptors + openCaches + unwinds * imagesOfOneRing
      + connections + otherDescriptors
  }
}
