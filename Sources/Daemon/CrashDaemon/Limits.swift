/// Every limit of crashd, named in one place.
public struct Limits: Sendable, Equatable {
  /// Attached processes of all users.
  public var processes = 4096
  /// Attached processes of one user who is not root.
  public var processesPerUser = 1024
  /// Processes of one user who is not root that may attach in a minute, even if they all attach at once.
  public var attachesPerMinute = 1_200
  /// Ended processes without a known exit status, because their parents have not called wait for them yet.
  public var endings = 1024
  /// Ended processes without an exit status, of one user who is not root.
  public var endingsPerUser = 256
  /// Rings of all users: of attached processes, of ended processes, and of processes that are being analyzed.
  public var rings = 6_144
  /// Rings of one user who is not root: twice `processesPerUser`, for the attached and for the ended processes.
  public var ringsPerUser = 2_048
  /// Connections of all users that have not sent a hello yet.
  public var greetings = 1024
  /// Connections of one user that have not sent a hello yet.
  public var greetingsPerUser = 64
  /// The time-out for a new connection to send its hello.
  public var greeting_ms = 5_000
  /// Wake-ups of one process that announce no new record, before crashd ignores later wake-ups of the process.
  public var emptyWakes = 100
  /// How long crashd remembers that it started the symbolication of a list of images.
  public var recentImages_ms = 1_000
  /// The time between two readings of a process's counters of protected classes.
  ///
  /// If the process does not announce its incidents, crashd reads the incidents at the same times.
  public var observation_ms = 30_000
  /// The minimum time between two readings of a ring for incidents that its process announced.
  public var incidentPause_ms = 250
  /// The maximum time that announced incidents wait after their user has exceeded its share of crashd's time.
  public var incidentWait_ms = 30_000
  /// Rings of one user whose announced incidents wait to be read; for further rings, announcements have no effect.
  public var incidentWaitsPerUser = 256
  /// Ended processes that crashd remembers for calls of `AwaitProcess`.
  public var endedProcesses = 1024

  /// How long a policy change waits for the processes that it affects.
  public var control_ms = 2_000
  /// How long crashd holds back the notice of a program's last crash, while the report of an earlier process of the
  /// program is not stored yet.
  public var lastCrash_ms = 30_000
  /// Programs of all users for which crashd keeps dangling statistics.
  public var danglingServices = 1_024
  /// Programs of one user who is not root for which crashd keeps dangling statistics.
  public var danglingServicesPerUser = 64

  /// Rings that crashd reads, symbolicates and stores concurrently.
  public var looks = 6
  /// Rings of one user that crashd reads concurrently.
  public var looksPerUser = 5
  /// The time that crashd may spend on the rings of one user in a burst.
  ///
  /// After the burst, the rings of the user have a lower priority. Announced incidents have a separate allowance and
  /// wait when it is used up.
  public var lookBurst_ms = 200
  /// The share of time, in percent, that the rings of one user may take on average.
  public var lookShare_percent = 25
  /// The maximum time that one ring is charged, which may include waiting for symbols.
  public var lookCharge_ms = 100

  /// Reports that wait in memory while the store rejects them.
  public var heldReports = 512
  /// Bytes of the reports that wait in memory.
  public var heldBytes = 48 << 20

  /// Spool files that one scan of the spool processes.
  public var spoolFiles = 4096
  /// Spool files of one user who is not root: the same number as `ringsPerUser`.
  public var spoolFilesPerUser = 2_048
  /// Bytes of the spool files of one user who is not root, but at most a quarter of the file system.
  public var spoolBytesPerUser = 256 << 20

  /// Threads that read files in file systems that processes chose and that may block.
  public var foreignThreads = 32
  /// Threads of one user that read files in such file systems.
  public var foreignThreadsPerUser = 4
  /// Jobs of one user that wait for such a thread; if more jobs wait, crashd refuses the user's processes.
  public var foreignWorkPerUser = 1_024
  /// Jobs of root or of crashd's own user that wait for such a thread.
  public var trustedForeignWork = 4_096

  /// Image descriptors that are open for waiting symbol jobs.
  public var heldDescriptors = 2048
  /// Waiting symbol jobs of one user.
  public var symbolJobsPerUser = 1024
  /// Concurrent symbol jobs.
  ///
  /// Each limit of concurrent jobs includes a reserve for root and for crashd's own user; see `places(_:for:)`.
  public var symbolJobs = 4
  /// Concurrent symbol jobs of one user; fewer than `symbolJobs`, because slow images must not block other users.
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
  /// The time-out for a file system to open an image; after it, the image counts as missing.
  public var imageLook_ms = 20_000
  /// How long a crash waits for the symbols that its frames need.
  public var symbolWait_ms = 20_000
  /// Bytes of the symbol names that crashd checks for one report, and bytes of the names that it caches.
  public var judgedNamesBytes = 4 << 20
  /// The time-out for checking the symbol names of one report.
  public var judgeNames_ms = 5_000
  /// Faults whose variables are described concurrently; a further fault is reported without its variables.
  public var scopes = 4
  /// Faults of one user whose variables are described concurrently.
  public var scopesPerUser = 2
  /// The time-out for describing the variables of one fault.
  public var scope_ms = 5_000
  /// Crashes that wait for their symbols and whose preliminary reports are listed meanwhile.
  public var preliminaryReports = 32
  /// Preliminary reports of one user.
  public var preliminaryReportsPerUser = 8
  /// Frames of one preliminary report.
  public var preliminaryFrames = 4_096
  /// Reports that are rebuilt when their symbols arrive late.
  public var lateReports = 256
  /// Symbol caches that are kept open.
  public var openCaches = 512
  /// Bytes of the symbol caches of each user on disk, and bytes of the symbol caches that all users share.
  public var cacheDirectoryBytes = 4 << 30
  /// Bytes of all symbol caches together.
  public var cacheBytes = 8 << 30

  /// The time-out for one server to send the debug information of one build.
  public var fetch_ms = 120_000
  /// How long `crash-fetch` may take to resolve the servers' addresses, in addition to `fetch_ms`.
  public var fetchStart_ms = 30_000
  /// Bytes of the debug information of one build, as a server sends it: for example 68 MB for a program of 146 MB.
  public var fetchBytes = 1 << 30
  /// Builds whose debug information waits to be requested; a further build waits until another process with it attaches.
  public var waitingFetches = 1_024
  /// Builds for which crashd remembers the time of the last request.
  public var rememberedFetches = 8_192
  /// The time after which crashd requests the same build again.
  public var fetchAgain_ms = 3_600_000

  /// Images of one user that wait for the extraction of their unwind tables.
  public var unwindTablesPerUser = 1024
  /// Images whose unwind tables are extracted concurrently.
  public var unwindTableJobs = 3
  /// Concurrent extractions of one user.
  public var unwindTableJobsPerUser = 1
  /// The time-out for the extraction of the unwind tables of one image.
  public var unwindTables_ms = 10_000
  /// How long an unwind cross-check waits for its unwind tables.
  public var unwindTablesWait_ms = 5_000
  /// Concurrent unwind cross-checks.
  public var unwinds = 3
  /// Waiting unwind cross-checks; further cross-checks are dropped.
  public var waitingUnwinds = 256
  /// Unwind cross-checks of one user that run or wait.
  public var unwindsPerUser = 32
  /// The time without a ring to read after which an unwind cross-check starts.
  public var unwindQuiet_ms = 20
  /// How long an unwind cross-check waits for such a pause; then it starts as soon as no ring waits to be read.
  public var unwindPatience_ms = 5_000
  /// The time-out of the unwind cross-check of one report.
  public var unwind_ms = 10_000
  /// Files with unwind tables that one cross-check opens: one for each image that a ring can name.
  public var imagesOfOneRing = 512
  /// Bytes of the input of one unwind cross-check.
  public var unwindRequestBytes = 64 << 20

  /// Varlink connections of all users.
  public var connections = 512
  /// Varlink connections of one user who is not root.
  public var connectionsPerUser = 64
  /// Bytes of one Varlink call; valid calls are shorter, and parsing a longer call would only take time.
  public var messageBytes = 16 << 10
  /// The time-out for a client to read one reply, before crashd disconnects the client.
  public var write_ms = 10_000
  /// The time-out for a collector to accept an event, and the time-out to acknowledge the next of the sent events.
  public var collector_ms = 10_000
  /// Reports in one reply of `List`.
  public var listReports = 1_000
  /// Events that crashd reads from the store at once for a subscriber.
  public var eventBatch = 16
  /// Bytes of the events that crashd reads at once, unless a single event is larger.
  public var eventBatchBytes = 4 << 20
  /// Subscribers of one user who is not root that may hold events in memory at once; its other subscribers wait.
  public var eventPagesPerUser = 4

  /// Users whose losses and refusals are counted, and kinds of log lines whose rate is limited.
  public var rememberedRefusals = 1_024

  /// Other descriptors of crashd: the store, listening sockets, pipes of child processes.
  public var otherDescriptors = 128

  /// The CPU time that crashd spends on the calls of one user in a burst, before further calls wait.
  public var callBurst_ms = 500
  /// The share of one CPU, in percent, that the calls of one user may take on average.
  public var callShare_percent = 25

  /// The CPU time that crashd charges a connection, in addition to the time of its calls.
  public var connectionCharge_us = 1_000
  /// CPU time that crashd's child processes spend on one user's images in a burst, before further images wait.
  public var childBurst_ms = 120_000
  /// The share of one CPU, in percent, that the images of one user may take on average.
  public var childShare_percent = 25

  /// Decides which uids are treated as one user.
  var accounts = UserAccounts.system

  /// The default limits.
  public init() {}

  /// The number of permits that a user may take, if `all` permits exist.
  ///
  /// One sixteenth of the permits, and at least one permit, is reserved for root and crashd's own user. If there is
  /// only one permit, it is not reserved.
  func places(_ all: Int, for uid: UInt32) -> Int {
    UserAccounts.isTrusted(uid) ? all : Self.placesOfOthers(all)
  }

  /// The number of permits that remain for other users if `all` permits exist.
  static func placesOfOthers(_ all: Int) -> Int { all < 2 ? all : all - max(1, all / 16) }

  /// Whether a user may take one more permit if `all` permits exist.
  ///
  /// `taken` has one account for each permit in use. `most` is the maximum number of permits of one account.
  func hasPlace(_ uid: UInt32, beside taken: some Collection<UInt32>, of all: Int, most: Int) -> Bool {
    let account = account(of: uid)
    return taken.count < places(all, for: uid) && taken.count { $0 == account } < most
  }

  /// The account that the limits of a uid apply to; see `UserAccounts`.
  func account(of uid: UInt32) -> UInt32 { accounts.account(of: uid) }

  /// The maximum number of descriptors that crashd needs with these limits.
  ///
  /// `LimitNOFILE=` of the unit must be at least this number.
  public var descriptors: Int {
    // A running process has its ring, its connection and its pidfd. An ended process has its ring and its pidfd. Symbol
    // jobs hold up to `heldDescriptors`, and unwind table jobs also hold up to `heldDescriptors`. Each unwind
    // cross-check opens the files of a ring's images.
    rings + 2 * processes + endings + greetings + 2 * heldDescriptors + openCaches + unwinds * imagesOfOneRing
      + connections + otherDescriptors
  }
}
