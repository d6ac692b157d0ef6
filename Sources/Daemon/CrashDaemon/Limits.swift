/// The limits of crashd.
///
/// A limit without a unit in its name is a maximum number.
public struct Limits: Sendable, Equatable {
  /// The maximum number of attached processes of all users.
  public var processes = 4096
  /// The maximum number of attached processes of one user who is not root.
  public var processesPerUser = 1024
  /// The maximum number of attaches per minute of one user who is not root; all of them are allowed to occur at once.
  public var attachesPerMinute = 1_200
  /// The maximum number of ended processes whose exit status is unknown, because their parents have not called wait for
  /// them yet.
  public var endings = 1024
  /// The maximum number of ended processes of one user who is not root whose exit status is unknown.
  public var endingsPerUser = 256
  /// The maximum number of rings of all users: of attached processes, of ended processes, and of processes that are
  /// being analyzed.
  public var rings = 6_144
  /// The maximum number of rings of one user who is not root: twice `processesPerUser`, for the attached and for the
  /// ended processes.
  public var ringsPerUser = 2_048
  /// The maximum number of connections of all users that have not sent a hello (the first message of a process) yet.
  public var greetings = 1024
  /// The maximum number of connections of one user that have not sent a hello yet.
  public var greetingsPerUser = 64
  /// The time-out for a new connection to send its hello.
  public var greeting_ms = 5_000
  /// The number of wake-ups (messages that announce a record) without a new record after which crashd ignores all later
  /// wake-ups of the process.
  public var emptyWakes = 100
  /// How long crashd remembers that it requested the symbols of a list of images.
  ///
  /// During this time, crashd does not request the symbols of the same list again.
  public var recentImages_ms = 1_000
  /// The interval at which crashd reads a process's counters of protected classes.
  ///
  /// Incidents that the process does not announce are read at the same interval.
  public var observation_ms = 30_000
  /// The minimum time between two readings of a ring for incidents that its process announced.
  public var incidentPause_ms = 250
  /// The maximum delay of reading announced incidents, if the user of their process has used up the user's share of
  /// crashd's time.
  public var incidentWait_ms = 30_000
  /// The maximum number of rings of one user whose announced incidents wait to be read; announcements from further
  /// rings are ignored.
  public var incidentWaitsPerUser = 256
  /// The maximum number of ended processes that crashd remembers for calls of `AwaitProcess`.
  public var endedProcesses = 1024

  /// How long a command that changes a policy waits until the affected processes have applied the change.
  public var control_ms = 2_000
  /// The maximum time for which crashd waits for the reports of one earlier process of a program.
  ///
  /// crashd waits for them before it sends a new process of the program the message about the program's last crash.
  public var lastCrash_ms = 30_000
  /// The maximum number of programs of all users for which crashd stores use-after-free statistics.
  public var danglingServices = 1_024
  /// The maximum number of programs of one user who is not root for which crashd stores use-after-free statistics.
  public var danglingServicesPerUser = 64

  /// The maximum number of rings that crashd reads, symbolicates and stores concurrently.
  public var looks = 6
  /// The maximum number of rings of one user that crashd reads concurrently.
  public var looksPerUser = 5
  /// The time that crashd is allowed to spend on the rings of one user in a burst.
  ///
  /// After the burst, the rings of the user have a lower priority than the rings of other users. Announced incidents
  /// have a separate time budget, and wait when this budget is used up.
  public var lookBurst_ms = 200
  /// The average share of time, in percent, that reading the rings of one user is allowed to take.
  public var lookShare_percent = 25
  /// The maximum time that crashd charges a user for reading one ring.
  ///
  /// There is a maximum because the measured time can include waiting for symbols.
  public var lookCharge_ms = 100

  /// The maximum number of reports that crashd holds in memory while the store does not accept reports.
  public var heldReports = 512
  /// The maximum number of bytes of all reports that crashd holds in memory while the store does not accept reports.
  public var heldBytes = 48 << 20

  /// The maximum number of spool files that one scan of the spool processes.
  public var spoolFiles = 4096
  /// The maximum number of spool files of one user who is not root: the same number as `ringsPerUser`.
  public var spoolFilesPerUser = 2_048
  /// The maximum number of bytes of the spool files of one user who is not root; the limit is never more than a quarter
  /// of the file system.
  public var spoolBytesPerUser = 256 << 20

  /// The maximum number of threads that access files in file systems that a user chose; these accesses can block.
  public var foreignThreads = 32
  /// The maximum number of threads of one user that access files in file systems that the user chose.
  public var foreignThreadsPerUser = 4
  /// The maximum number of jobs of one user that wait for a thread of `foreignThreads`; if more jobs wait, crashd
  /// refuses the user's processes.
  public var foreignWorkPerUser = 1_024
  /// The maximum number of jobs of root or of crashd's own user that wait for a thread of `foreignThreads`.
  public var trustedForeignWork = 4_096

  /// The maximum number of image descriptors that are open for waiting symbol jobs.
  ///
  /// A symbol job extracts the symbols of one image into a symbol cache.
  public var heldDescriptors = 2048
  /// The maximum number of waiting symbol jobs of one user.
  public var symbolJobsPerUser = 1024
  /// The maximum number of symbol jobs of all users that run concurrently.
  ///
  /// Each limit of concurrent jobs includes permits that are reserved for root and for crashd's own user; see
  /// `places(_:for:)`.
  public var symbolJobs = 4
  /// The maximum number of concurrent symbol jobs of one user; fewer than `symbolJobs`, because slow images must not
  /// block other users.
  public var symbolJobsAtOncePerUser = 2
  /// The maximum number of hasty symbol jobs of all users that run concurrently; a hasty symbol job covers only the
  /// frames of one crash, so that the report of this crash is complete soon.
  public var hastySymbolJobs = 4
  /// The maximum number of concurrent hasty symbol jobs of one user.
  public var hastySymbolJobsPerUser = 2
  /// The time-out of a hasty symbol job.
  public var hastySymbolJob_ms = 5_000
  /// The maximum number of addresses of one hasty symbol job; the number is limited because crashd passes the addresses
  /// on the command line.
  public var hastyAddresses = 4_096
  /// The time-out of one symbol job.
  public var symbolJob_ms = 60_000
  /// The time-out for opening an image, whose file system can block; after the time-out, the image is treated as
  /// missing.
  public var imageLook_ms = 20_000
  /// How long the analysis of a crash waits for the symbols of the crash's frames.
  public var symbolWait_ms = 20_000
  /// The maximum number of bytes of the symbol names that crashd checks for one report, and also of the names in the
  /// cache of the results.
  public var judgedNamesBytes = 4 << 20
  /// The time-out for checking the symbol names of one report.
  public var judgeNames_ms = 5_000
  /// The number of child processes that must exceed `judgeNames_ms` at the same symbol name until crashd treats this
  /// name as unreadable.
  public var judgeNameTries = 3
  /// The maximum number of concurrent descriptions of the variables in scope at a fault; above the limit, a fault is
  /// reported without its variables.
  public var scopes = 4
  /// The maximum number of concurrent descriptions of variables for the faults of one user.
  public var scopesPerUser = 2
  /// The time-out for describing the variables of one fault.
  public var scope_ms = 5_000
  /// The maximum number of preliminary reports, which crashd lists for crashes that wait for their symbols.
  public var preliminaryReports = 32
  /// The maximum number of preliminary reports of one user.
  public var preliminaryReportsPerUser = 8
  /// The maximum number of frames of one preliminary report.
  public var preliminaryFrames = 4_096
  /// The maximum number of bytes of the requests in flight that crashd keeps for crashes that wait for their symbols;
  /// above the limit, crashd reads the requests after the wait.
  public var waitingRequestBytes = 64 << 20
  /// The part of `waitingRequestBytes` that the crashes of one user are allowed to take.
  public var waitingRequestBytesPerUser = 8 << 20
  /// The maximum number of stored reports that wait for late symbols; crashd rebuilds such a report when its symbols
  /// arrive.
  public var lateReports = 256
  /// The maximum number of symbol caches that are kept open.
  public var openCaches = 512
  /// The maximum number of bytes on disk of the symbol caches of each user; the same limit applies to the symbol caches
  /// that all users share.
  public var cacheDirectoryBytes = 4 << 30
  /// The maximum number of bytes on disk of all symbol caches together.
  public var cacheBytes = 8 << 30

  /// The time-out for one server to send the debug information of one build.
  public var fetch_ms = 120_000
  /// The time that `crash-fetch` is allowed to take to resolve the servers' addresses, in addition to `fetch_ms` for
  /// each server.
  public var fetchStart_ms = 30_000
  /// The maximum number of bytes of the debug information of one build, as a server sends it.
  ///
  /// For example, a server sends 68 MB for a program of 146 MB.
  public var fetchBytes = 1 << 30
  /// The maximum number of builds whose debug information waits to be requested; above the limit, a build is requested
  /// when its next process attaches.
  public var waitingFetches = 1_024
  /// The maximum number of builds for which crashd remembers when it last requested their debug information.
  public var rememberedFetches = 8_192
  /// The time after which crashd requests the debug information of the same build again, if a process needs it.
  public var fetchAgain_ms = 3_600_000

  /// The maximum number of images of one user that wait for the extraction of their unwind tables.
  public var unwindTablesPerUser = 1024
  /// The maximum number of images whose unwind tables are extracted concurrently.
  public var unwindTableJobs = 3
  /// The maximum number of extractions of unwind tables that run concurrently for one user.
  public var unwindTableJobsPerUser = 1
  /// The time-out for the extraction of the unwind tables of one image.
  public var unwindTables_ms = 10_000
  /// How long an unwind cross-check waits for the unwind tables that it needs.
  public var unwindTablesWait_ms = 5_000
  /// The maximum number of concurrent unwind cross-checks.
  public var unwinds = 3
  /// The maximum number of waiting unwind cross-checks; further cross-checks are dropped.
  public var waitingUnwinds = 256
  /// The maximum number of unwind cross-checks of one user that run or wait.
  public var unwindsPerUser = 32
  /// An unwind cross-check starts after a pause of this length, in which no ring waited to be read.
  public var unwindQuiet_ms = 20
  /// The maximum time for which an unwind cross-check waits for the pause `unwindQuiet_ms`; after this time, it starts
  /// as soon as no ring waits to be read.
  public var unwindPatience_ms = 5_000
  /// The time-out of the unwind cross-check of one report.
  public var unwind_ms = 10_000
  /// The maximum number of files with unwind tables that one cross-check opens: one file for each image that a ring can
  /// contain.
  public var imagesOfOneRing = 512
  /// The maximum number of bytes of the input of one unwind cross-check.
  public var unwindRequestBytes = 64 << 20

  /// The maximum number of Varlink connections of all users.
  public var connections = 512
  /// The maximum number of Varlink connections of one user who is not root.
  public var connectionsPerUser = 64
  /// The maximum number of bytes of one Varlink call; valid calls are shorter than this limit, and parsing longer calls
  /// would waste time.
  public var messageBytes = 16 << 10
  /// The time-out for a client to accept one reply; after the time-out, crashd disconnects the client.
  public var write_ms = 10_000
  /// The time-out for a collector to accept one event, and also for a collector to acknowledge the oldest event that
  /// was sent.
  public var collector_ms = 10_000
  /// The maximum number of reports in one reply of `List`.
  public var listReports = 1_000
  /// The maximum number of events that crashd reads from the store at once for a subscriber.
  public var eventBatch = 16
  /// The maximum number of bytes of the events that crashd reads at once for a subscriber; a single event can be larger
  /// than this limit.
  public var eventBatchBytes = 4 << 20
  /// The maximum number of subscribers of one user who is not root for which crashd holds events in memory; the user's
  /// other subscribers wait.
  public var eventPagesPerUser = 4

  /// The maximum number of users whose losses and refusals are counted, and also of kinds of log lines whose rate is
  /// limited.
  public var rememberedRefusals = 1_024

  /// The maximum number of descriptors for other purposes: the store, the listening sockets and the pipes of child
  /// processes.
  public var otherDescriptors = 128

  /// The CPU time that crashd spends on the calls of one user in a burst, before further calls wait.
  public var callBurst_ms = 500
  /// The share of one CPU, in percent, that the calls of one user are allowed to take on average.
  public var callShare_percent = 25

  /// The CPU time that crashd charges a user for each connection, in addition to the time of the connection's calls.
  public var connectionCharge_us = 1_000
  /// The CPU time that crashd's child processes are allowed to spend on one user's images in a burst, before further
  /// images wait.
  public var childBurst_ms = 120_000
  /// The share of one CPU, in percent, that processing the images of one user is allowed to take on average.
  public var childShare_percent = 25

  /// Decides which uids are treated as one user.
  var accounts = UserAccounts.system

  /// Creates limits with the default values.
  public init() {}

  /// Returns the number of permits that a user is allowed to take, if there are `all` permits in total.
  ///
  /// One sixteenth of the permits, but at least one permit, is reserved for root and crashd's own user. If there is
  /// only one permit, it is not reserved.
  func places(_ all: Int, for uid: UInt32) -> Int {
    UserAccounts.isTrusted(uid) ? all : Self.placesOfOthers(all)
  }

  /// Returns the number of permits that users other than root and crashd's own user are allowed to take, if there are
  /// `all` permits in total.
  static func placesOfOthers(_ all: Int) -> Int { all < 2 ? all : all - max(1, all / 16) }

  /// Whether a user is allowed to take one more permit, if there are `all` permits in total.
  ///
  /// The array `taken` contains the account of each permit in use. The number `most` is the maximum number of permits
  /// of one account.
  func hasPlace(_ uid: UInt32, beside taken: some Collection<UInt32>, of all: Int, most: Int) -> Bool {
    let account = account(of: uid)
    return taken.count < places(all, for: uid) && taken.count { $0 == account } < most
  }

  /// Returns the account that the limits of a uid apply to; see `UserAccounts`.
  func account(of uid: UInt32) -> UInt32 { accounts.account(of: uid) }

  /// The maximum number of descriptors that crashd needs with these limits.
  ///
  /// `LimitNOFILE=` of the unit must be at least this number.
  public var descriptors: Int {
    // An attached process needs three descriptors: its ring, its connection and its pidfd. An ended process needs two
    // descriptors: its ring and its pidfd. Symbol jobs hold up to `heldDescriptors` descriptors, and unwind table jobs
    // hold as many. Each unwind cross-check opens one file for each image of a ring.
    rings + 2 * processes + endings + greetings + 2 * heldDescriptors + openCaches + unwinds * imagesOfOneRing
      + connections + otherDescriptors
  }
}
