import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// Manages the symbol caches of all images. crashd builds the caches of a process's images when the process attaches,
/// and finds a cache by its build ID when a process crashes.
actor SymbolCaches {
  enum Entry {
    case ready(SymbolCache, lastUse: UInt64)
    /// The cache is being built from one of the files that processes reported with its build ID.
    ///
    /// crashd keeps every reported file, and not only the first one, because a process can report a wrong build ID for
    /// its file. If crash-analyse cannot build the cache from one file, crashd uses another one.
    case pending([ImageFile.Identity: Source])
  }

  /// The open file of an image, the path that a process reported for the image, and the user of the process.
  struct Source {
    var image: Descriptor
    var path: String
    var user: UInt32
  }

  /// A file from which crash-analyse could not build a cache with the given build ID.
  struct Failure: Hashable {
    var name: CacheName
    var file: ImageFile.Identity
  }

  struct Job {
    var name: CacheName
    var path: String
    var user: FairUser
    var image: Descriptor
    var file: ImageFile.Identity
    var number: UInt64
    /// Whether the file is a separate debug file, for an image whose existing cache has only function names.
    var isDebugFile = false
  }

  struct Configuration: Sendable {
    /// The directory of the symbol caches.
    var directory: String
    /// The path of `crash-analyse`; nil if crashd did not find the program.
    ///
    /// Without the program, no symbols are available.
    var program: String?
    /// The directory in which the system installs debug files.
    var debugDirectory = DebugFilePaths.standardDirectory
    /// Directories with images and debug files by build ID, which an operator set.
    var symbolDirectories: [String] = []
    /// The debuginfod servers; nil if none are configured.
    var servers: FetchJob.Servers?
    var limits: Limits
    var ledger: Ledger
    var logger: Logger
    /// Limits the CPU time spent on each user's images, for symbols and unwind tables together.
    var cpu: CPUAccounts

    init(
      directory: String, program: String?, debugDirectory: String = DebugFilePaths.standardDirectory,
      servers: FetchJob.Servers? = nil, limits: Limits, ledger: Ledger, logger: Logger
    ) {
      (self.directory, self.program, self.debugDirectory) = (directory, program, debugDirectory)
      (self.servers, self.limits, self.ledger, self.logger) = (servers, limits, ledger, logger)
      cpu = CPUAccounts(
        CPUAccounts.Allowance(burst_ms: limits.childBurst_ms, share_percent: limits.childShare_percent),
        users: limits.accounts)
    }

    /// Returns a function that charges the user for the CPU time of a child process.
    func charge(_ user: UInt32) -> @Sendable (UInt64) -> Void { { [cpu] in cpu.charge(user, $0) } }
  }

  let configuration: Configuration
  var entries: [CacheName: Entry] = [:]
  /// The number of failed attempts to build a cache, for each file.
  private var failures: [Failure: Int] = [:]
  private var wrongClaims: WrongClaims
  /// The maximum number of attempts for a file that fails temporarily.
  ///
  /// The number is low, because each job that times out takes a minute.
  private static let attempts = 3
  /// The jobs that build caches, distributed fairly between users.
  ///
  /// The number of running jobs is limited for each user, and a job is urgent if the analysis of a crash waits for it.
  var jobs: FairQueue<Job>
  private var running: [Job] = []
  /// Starts waiting jobs when their users have CPU time again.
  private var alarm = Alarm()
  private var clock: UInt64 = 0
  var waiters: [UInt64: Waiter] = [:]
  var hastyJobs: FairQueue<HastyJob>
  var queue = FetchQueue()
  /// Images that could not be opened, with their paths and the time of the attempt.
  private var unreachable: [CacheName: (path: String, time_ns: UInt64)] = [:]
  /// The time when crashd last searched for debug files in the directory of each image.
  var lookedBeside: [CacheName: UInt64] = [:]

  /// The analysis of a crash that waits for caches.
  struct Waiter {
    /// The caches for which the analysis still waits.
    var names: Set<CacheName>
    /// Partial caches for the addresses of the crash, for builds whose complete caches are not ready.
    var hasty: [CacheName: SymbolCache] = [:]
    /// Resumes the waiting task; nil when the analysis no longer waits.
    var continuation: CheckedContinuation<Void, Never>?
  }

  /// The known reasons why caches do not exist, by cache.
  var refusals: [CacheName: String] = [:]
  /// Stored reports whose symbols were incomplete, by the cache for which the reports wait.
  ///
  /// crashd rebuilds these reports when the cache is complete.
  var late: [CacheName: Set<LateReport>] = [:]
  /// Stored reports whose missing symbols have arrived.
  nonisolated let lateReports: AsyncStream<LateReport>
  let lateContinuation: AsyncStream<LateReport>.Continuation

  nonisolated let judge: NameJudge
  nonisolated let scopes: ScopeReader

  init(_ configuration: Configuration) {
    self.configuration = configuration
    let limits = configuration.limits
    wrongClaims = WrongClaims(most: limits.openCaches)
    jobs = FairQueue(
      PermitLimit(total: limits.symbolJobs, perUser: limits.symbolJobsAtOncePerUser), order: .arrival)
    hastyJobs = FairQueue(
      PermitLimit(total: limits.hastySymbolJobs, perUser: limits.hastySymbolJobsPerUser), order: .arrival)
    judge = NameJudge(configuration)
    scopes = ScopeReader(configuration)
    (lateReports, lateContinuation) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(configuration.limits.lateReports))
  }

  var waitingJobs: [Job] { jobs.waiting() }
  /// The number of running jobs that build partial caches.
  var hastyJobCount: Int { hastyJobs.permitCount }

  func tick() -> UInt64 {
    clock += 1
    return clock
  }
}

// Builds symbol caches.
extension SymbolCaches {
  /// Builds the missing caches of the given images.
  ///
  /// The method returns when the jobs are queued.
  func prepare(_ images: [ImageFile], for user: UInt32) async {
    let unseen = begin(images, for: user)
    if unseen.isEmpty { return }
    let (seen, refused) = await ForeignImages.look(unseen, for: user, configuration)
    for (image, reason) in refused {
      configuration.logger.debug("no symbols for '\(image.path)': \(reason)")
      let name = CacheName(buildID: image.buildID, owner: .user(user))
      refuse(name, because: reason)
      if unreachable.count >= configuration.limits.openCaches { unreachable = [:] }
      unreachable[name] = (image.path, Moment.monotonic_ns())
    }
    _ = begin(seen, for: user)
  }

  /// Does the part of `prepare` that opens no files.
  /// - Returns: The images whose files must be opened next.
  func begin(_ images: [ImageFile], for user: UInt32) -> [ImageFile] {
    var unseen: [ImageFile] = []
    for image in images {
      guard configuration.program != nil else { continue }
      guard hasRoom(for: user) else {
        configuration.ledger.refuse(
          "symbols", from: Peer(pid: 0, uid: user), because: "too many images wait for their symbols")
        return []
      }
      let ready = find(image.buildID, user).filter(isReady)
      if !ready.isEmpty {
        improve(ready, image, for: user)
        continue
      }
      do throws(SystemError) {
        guard let opened = try image.opened(for: user) else {
          if !isUnreachable(image, for: user) { unseen.append(image) }
          continue
        }
        let name = CacheName(buildID: image.buildID, owner: opened.owner)
        if hasFailed(Failure(name: name, file: opened.identity)) { continue }
        let claim = claim(of: user, to: opened.identity)
        guard wrongClaims.admit(image.buildID, of: claim, beside: buildIDs(of: claim)) else {
          refuse(name, because: "its file was reported with other build ids, and has none of them")
          continue
        }
        var files: [ImageFile.Identity: Source] = [:]
        if case .pending(let known) = entries[name] { files = known }
        let source = Source(image: opened.descriptor, path: image.path, user: user)
        guard files.updateValue(source, forKey: opened.identity) == nil else { continue }
        entries[name] = .pending(files)
        let job = Job(
          name: name, path: image.path, user: FairUser(uid: user, account: claim.account), image: opened.descriptor,
          file: opened.identity, number: tick())
        jobs.append(job, of: job.user, isUrgent: image.isExecutable)
      } catch {
        // This error is logged only at debug level, because it is normal for a process in a container: its paths often
        // do not exist on the host. The process can send descriptors of its files instead.
        configuration.logger.debug("no symbols for '\(image.path)': \(error)")
        refuse(CacheName(buildID: image.buildID, owner: .user(user)), because: "\(error)")
      }
    }
    startJobs()
    if configuration.servers == nil { return unseen }
    for image in images { find(image.buildID, user).forEach(fetchDebugInformation) }
    return unseen
  }

  /// Whether opening the image failed only a short time ago.
  ///
  /// If many processes crash at once, crashd tries to open the image only for the first crash.
  private func isUnreachable(_ image: ImageFile, for user: UInt32) -> Bool {
    let name = CacheName(buildID: image.buildID, owner: .user(user))
    guard image.descriptor == nil, let (path, time_ns) = unreachable[name], path == image.path else { return false }
    return Moment.monotonic_ns() - time_ns < UInt64(configuration.limits.recentImages_ms) * 1_000_000
  }

  private func hasRoom(for user: UInt32) -> Bool {
    let limits = configuration.limits
    return jobs.mayWait(
      limits.accounts.fairUser(user), PermitLimit(total: limits.heldDescriptors, perUser: limits.symbolJobsPerUser))
  }

  func startJobs() {
    while let next = takeNext() {
      running.append(next)
      let job = SymbolJob(
        program: configuration.program ?? "", image: next.image, buildID: next.name.buildID,
        output: next.name.path(in: configuration.directory), timeout_ms: configuration.limits.symbolJob_ms,
        debugFiles: debugFiles(of: next.path, next.name, for: next.user.uid),
        charge: configuration.charge(next.user.uid))
      let directory = next.name.directory(in: configuration.directory)
      do {
        try Directories.make(directory, mode: 0o700)
        // Each job has its own thread, because the thread blocks until the child ends. The number of threads is small,
        // because the number of concurrent jobs is limited.
        try Thread.start(named: "symbols") { [self] in
          let result = Result { next.isDebugFile ? try job.replace() : try job.run() }
          Task { await finish(next, result) }
        }
      } catch {
        finish(next, .failure(error))
      }
    }
  }

  /// Returns the next job to run.
  ///
  /// Jobs of users who have no CPU time left are skipped and wait.
  private func takeNext() -> Job? {
    var soonest_ns = UInt64.max
    let next = jobs.next { user in
      let wait_ns = configuration.cpu.wait_ns(for: user)
      if wait_ns > 0 { soonest_ns = min(soonest_ns, wait_ns) }
      return wait_ns == 0
    }
    if soonest_ns < .max { alarm.set(after: soonest_ns) { await self.startAgain() } }
    return next?.waiter
  }

  private func startAgain() {
    alarm.end()
    startJobs()
  }

  func debugFiles(of path: String, _ name: CacheName, for user: UInt32) -> DebugFiles {
    DebugFiles(
      directory: configuration.debugDirectory, others: configuration.symbolDirectories, imagePath: path, user: user,
      owner: name.owner)
  }

  private func finish(_ job: Job, _ result: Result<[String], any Error>) {
    running.removeAll { $0.number == job.number }
    jobs.giveBack(job.user)
    do {
      for problem in try result.get() {
        configuration.logger.notice("a debug file of '\(job.path)' is not used: \(problem)")
      }
      try open(job.name)
      if !job.isDebugFile { wrongClaims.forget(claim(of: job.user.uid, to: job.file)) }
      fetchDebugInformation(of: job.name)
    } catch {
      fail(job, error)
      fetchDebugInformation(of: job.name)
      configuration.ledger.refuse(
        "image", from: Peer(pid: 0, uid: job.user.uid), because: "no symbols for '\(job.path)': \(error)")
    }
    prune()
    for number in waiters.keys { wake(number) }
    tellLate(job.name)
    startJobs()
  }

  /// Removes the least recently used caches until the directories fit their limits.
  func prune() {
    do {
      try CacheDirectory(path: configuration.directory).prune(configuration.limits)
    } catch {
      configuration.logger.warning("cannot remove old symbol caches: \(error), ignoring")
    }
  }
}

// Handles jobs that failed.
extension SymbolCaches {
  /// Whether crashd makes no further attempt to build a cache from the given file.
  func hasFailed(_ file: Failure) -> Bool { failures[file, default: 0] >= Self.attempts }

  private func claim(of user: UInt32, to file: ImageFile.Identity) -> WrongClaims.Claim {
    WrongClaims.Claim(account: configuration.limits.account(of: user), file: file)
  }

  /// Returns the build IDs of the waiting or running jobs for the same file and account.
  private func buildIDs(of claim: WrongClaims.Claim) -> Set<String> {
    let isOfClaim = { (job: Job) in
      job.user.account == claim.account && job.file == claim.file && !job.isDebugFile
    }
    return Set((jobs.waiting(where: isOfClaim) + running.filter(isOfClaim)).map(\.name.buildID))
  }

  /// Records that a job failed.
  ///
  /// The cache of the same build can still be built from another file.
  private func fail(_ job: Job, _ error: any Error) {
    if case .pending(var files) = entries[job.name] {
      files[job.file] = nil
      entries[job.name] = files.isEmpty ? nil : .pending(files)
      // If the job for a debug file failed, crashd uses the existing cache with function names again.
      if files.isEmpty && job.isDebugFile { try? open(job.name) }
    }
    refuse(job.name, because: "\(error)")
    // Do not count a failure of crashd itself, such as a full disk, because the file did not cause it.
    guard let failure = error as? HelperChild.Failure else { return }
    if failures.count >= configuration.limits.openCaches { failures = [:] }
    if !failure.isPassing, !job.isDebugFile {
      wrongClaims.note(job.name.buildID, of: claim(of: job.user.uid, to: job.file))
    }
    // A temporary failure uses up one attempt. Any other failure uses up all attempts of the file.
    failures[Failure(name: job.name, file: job.file), default: 0] += failure.isPassing ? 1 : Self.attempts
  }
}

// Finds symbol caches.
extension SymbolCaches {
  /// The caches for the requested addresses.
  ///
  /// For caches that are incomplete, the answer also has the reasons why they are incomplete, by build ID.
  struct Answer: Sendable {
    var caches: [String: SymbolCache]
    var gaps: [String: SymbolGap]
  }

  /// Starts jobs for the missing caches of the given images.
  ///
  /// Returns the answer if the caller need not wait for a job; otherwise nil. One call of this actor starts the jobs
  /// and collects the answer, because each separate call would wait a long time for the actor if many processes crash
  /// at once. If the result is nil, the caller must continue with `prepare`.
  func ready(_ wanted: [String: Set<UInt64>], _ images: [ImageFile], for user: UInt32) async -> Answer? {
    guard begin(images, for: user).isEmpty else { return nil }
    guard isSettled(Set((images.map(\.buildID) + wanted.keys).flatMap { find($0, user) })) else { return nil }
    return await answer(to: wanted, for: user, timeout_ms: configuration.limits.symbolWait_ms)
  }

  /// Waits for the caches that are being built, and returns those caches that `user` is allowed to use.
  func answer(to wanted: [String: Set<UInt64>], for user: UInt32, timeout_ms: Int) async -> Answer {
    let found = await caches(of: wanted, for: user, timeout_ms: timeout_ms)
    return Answer(caches: found, gaps: gaps(of: wanted.keys, found, for: user))
  }

  /// Waits for the caches that are being built, and returns the caches that `user` is allowed to use for the link
  /// addresses in `wanted`.
  ///
  /// If the complete caches take too long, the answer contains partial caches, which cover only these addresses.
  func caches(
    of wanted: [String: Set<UInt64>], for user: UInt32, timeout_ms: Int
  ) async -> [String: SymbolCache] {
    let names = Set(wanted.keys.flatMap { find($0, user) })
    jobs.makeUrgent { names.contains($0.name) }
    let waits = timeout_ms > 0 && !isSettled(names)
    let hasty = !waits ? [:] : await wait(for: names, wanted, of: user, timeout_ms: timeout_ms)
    var found = readyCaches(among: names)
    for (name, cache) in hasty where found[name.buildID] == nil { found[name.buildID] = cache }
    // If a cache is still being rebuilt with line numbers, use the existing cache.
    for name in names where found[name.buildID] == nil {
      found[name.buildID] = try? SymbolCache(path: name.path(in: configuration.directory), buildID: name.buildID)
    }
    return found
  }

  /// Returns the existing caches that `user` is allowed to use, without waiting or starting jobs.
  func readyCaches(of buildIDs: some Collection<String>, for user: UInt32) -> [String: SymbolCache] {
    readyCaches(among: Set(buildIDs.flatMap { find($0, user) }))
  }

  private func readyCaches(among names: Set<CacheName>) -> [String: SymbolCache] {
    var found: [String: SymbolCache] = [:]
    for name in names {
      if case .ready(let cache, _) = entries[name] {
        entries[name] = .ready(cache, lastUse: tick())
        CacheDirectory.touch(name.path(in: configuration.directory))
        if found[name.buildID] == nil || name.owner == .allUsers { found[name.buildID] = cache }
      }
    }
    return found
  }

  private func wait(
    for names: Set<CacheName>, _ wanted: [String: Set<UInt64>], of user: UInt32, timeout_ms: Int
  ) async -> [CacheName: SymbolCache] {
    let number = tick()
    waiters[number] = Waiter(names: names)
    startHastyJobs(for: number, wanted, of: user)
    let alarm = Task {
      try await Task.sleep(for: .milliseconds(timeout_ms))
      giveUp(number)
    }
    await withCheckedContinuation { waiters[number]?.continuation = $0 }
    alarm.cancel()
    return waiters.removeValue(forKey: number)?.hasty ?? [:]
  }

  private func giveUp(_ number: UInt64) {
    waiters[number]?.continuation?.resume()
    waiters[number]?.continuation = nil
  }

  /// Resumes the waiting analysis of a crash if each cache that it waits for exists or could not be built.
  func wake(_ number: UInt64) {
    guard let waiter = waiters[number], isSettled(waiter.names) else { return }
    giveUp(number)
  }

  private func isSettled(_ names: Set<CacheName>) -> Bool {
    names.allSatisfy { name in
      if case .pending = entries[name] { return false }
      return true
    }
  }

  private func isReady(_ name: CacheName) -> Bool {
    if case .ready = entries[name] { true } else { false }
  }

  /// Returns the names of the caches with the given build ID that are in memory or on disk.
  private func find(_ buildID: String, _ user: UInt32) -> [CacheName] {
    Self.names(buildID, user).filter { name in
      if entries[name] != nil { return true }
      guard unsafe access(name.path(in: configuration.directory), R_OK) == 0 else { return false }
      do {
        try open(name)
        return true
      } catch {
        // The cache file has an older format or is damaged. Therefore, crashd builds the cache again.
        configuration.logger.info("not used: '\(name.path(in: configuration.directory))': \(error)")
        return false
      }
    }
  }

  func open(_ name: CacheName) throws(SymbolCacheError) {
    let cache = try SymbolCache(path: name.path(in: configuration.directory), buildID: name.buildID)
    if entries.count >= configuration.limits.openCaches { forgetOldest() }
    entries[name] = .ready(cache, lastUse: tick())
    CacheDirectory.touch(name.path(in: configuration.directory))
  }

  private func forgetOldest() {
    let ready = entries.compactMap { name, entry in
      if case .ready(_, let lastUse) = entry { (name, lastUse) } else { nil }
    }
    if let oldest = ready.min(by: { $0.1 < $1.1 }) { entries[oldest.0] = nil }
  }
}
