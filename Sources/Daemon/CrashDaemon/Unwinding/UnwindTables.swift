import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// Manages the files with the unwind tables of all images. crashd extracts the tables of a process's images when the
/// process attaches, and finds them by build ID when a process crashes.
///
/// At most one job for each user runs at a time. A job takes milliseconds, unless the image is on a file system that
/// the user controls. The analysis of a crash waits for a job only if the process crashes directly after it attached.
actor UnwindTables {
  private struct Job {
    var name: CacheName
    var user: FairUser
    var image: Descriptor
    var file: ImageFile.Identity
    var number: UInt64
  }

  /// An image file from which crash-analyse could not extract unwind tables for the build ID in `name`.
  private struct Failure: Hashable {
    var name: CacheName
    var file: ImageFile.Identity
  }

  private struct Waiter {
    var names: Set<CacheName>
    var continuation: CheckedContinuation<Void, Never>
  }

  private let configuration: SymbolCaches.Configuration
  /// The jobs that extract tables, distributed fairly between users.
  ///
  /// A job is urgent if the analysis of a crash waits for it.
  private var jobs: FairQueue<Job>
  private var running: [Job] = []
  private var failures: Set<Failure> = []
  private var wrongClaims: WrongClaims
  /// Starts waiting jobs when their users have a part of their CPU time budget again.
  private var alarm = Alarm()
  private var isStopped = false
  private var waiters: [UInt64: Waiter] = [:]
  private var clock: UInt64 = 0

  init(_ configuration: SymbolCaches.Configuration) {
    self.configuration = configuration
    let limits = configuration.limits
    wrongClaims = WrongClaims(most: limits.openCaches)
    jobs = FairQueue(
      PermitLimit(total: limits.unwindTableJobs, perUser: limits.unwindTableJobsPerUser), order: .arrival)
  }

  private func tick() -> UInt64 {
    clock += 1
    return clock
  }
}

// Extracts unwind tables.
extension UnwindTables {
  /// Extracts the missing unwind tables of the given images.
  ///
  /// The method returns when the jobs are queued.
  func prepare(_ images: [ImageFile], for user: UInt32) async {
    let unseen = begin(images, for: user)
    if unseen.isEmpty { return }
    let (seen, _) = await ForeignImages.look(unseen, for: user, configuration)
    _ = begin(seen, for: user)
  }

  /// Does the part of `prepare` that opens no files: queues jobs for the images whose files are already open.
  /// - Returns: The images whose files must be opened next.
  private func begin(_ images: [ImageFile], for user: UInt32) -> [ImageFile] {
    guard configuration.program != nil else { return [] }
    let limits = configuration.limits
    var unseen: [ImageFile] = []
    for image in images where !names(image.buildID, user).contains(where: isThere) {
      let most = PermitLimit(total: limits.heldDescriptors, perUser: limits.unwindTablesPerUser)
      guard jobs.mayWait(limits.accounts.fairUser(user), most) else {
        configuration.ledger.refuse(
          "unwind tables", from: Peer(pid: 0, uid: user), because: "too many images wait for them")
        return []
      }
      // Do not log the error: the symbol caches need the same image, and have already logged it.
      let opened: ImageFile.Opened
      do throws(SystemError) {
        guard let found = try image.opened(for: user) else {
          unseen.append(image)
          continue
        }
        opened = found
      } catch { continue }
      let name = CacheName(buildID: image.buildID, owner: opened.owner)
      let ofFile = jobs.waiting { $0.file == opened.identity } + running.filter { $0.file == opened.identity }
      let claim = claim(of: user, to: opened.identity)
      let begun = ofFile.filter { $0.user.account == claim.account }.map(\.name.buildID)
      let isKnown =
        failures.contains(Failure(name: name, file: opened.identity)) || ofFile.contains { $0.name == name }
      if isKnown || !wrongClaims.admit(image.buildID, of: claim, beside: Set(begun)) { continue }
      let job = Job(
        name: name, user: FairUser(uid: user, account: claim.account), image: opened.descriptor,
        file: opened.identity, number: tick())
      jobs.append(job, of: job.user)
    }
    startJobs()
    return unseen
  }

  private func claim(of user: UInt32, to file: ImageFile.Identity) -> WrongClaims.Claim {
    WrongClaims.Claim(account: configuration.limits.account(of: user), file: file)
  }

  private func startJobs() {
    while let (next, isUrgent) = jobs.next(where: hasTime) { start(next, isUrgent: isUrgent) }
  }

  private func hasTime(_ user: UInt32) -> Bool {
    let wait_ns = configuration.cpu.wait_ns(for: user)
    if wait_ns > 0 { alarm.set(after: wait_ns) { await self.startAgain() } }
    return wait_ns == 0
  }

  private func startAgain() {
    alarm.end()
    startJobs()
  }

  private func start(_ job: Job, isUrgent: Bool) {
    let work = UnwindTableJob(
      program: configuration.program ?? "", image: job.image, buildID: job.name.buildID,
      output: job.name.unwindPath(in: configuration.directory), timeout_ms: configuration.limits.unwindTables_ms,
      isUrgent: isUrgent, charge: configuration.charge(job.user.uid))
    do {
      try Directories.make(job.name.directory(in: configuration.directory), mode: 0o700)
      try Thread.start(named: "unwind-tables") { [self] in
        let result = Result { try work.run() }
        Task { await finish(job, result) }
      }
      running.append(job)
    } catch {
      jobs.giveBack(job.user)
      note(job, .failure(error))
    }
  }

  private func finish(_ job: Job, _ result: Result<Void, any Error>) {
    running.removeAll { $0.number == job.number }
    jobs.giveBack(job.user)
    note(job, result)
    startJobs()
  }

  private func note(_ job: Job, _ result: Result<Void, any Error>) {
    do {
      try result.get()
      wrongClaims.forget(claim(of: job.user.uid, to: job.file))
    } catch let error as HelperChild.Failure {
      // Remember every failure that is not temporary, so that no job repeats it. This includes images without unwind
      // tables: for them, libunwind has no more information than the signal handler had.
      if !error.isPassing {
        if failures.count >= configuration.limits.openCaches { failures = [] }
        failures.insert(Failure(name: job.name, file: job.file))
        wrongClaims.note(job.name.buildID, of: claim(of: job.user.uid, to: job.file))
      }
      configuration.logger.debug("no unwind tables of build \(job.name.buildID): \(error)")
    } catch {
      configuration.logger.warning("cannot store the unwind tables of build \(job.name.buildID): \(error), ignoring")
    }
    do {
      try CacheDirectory(path: configuration.directory).prune(configuration.limits)
    } catch {
      configuration.logger.warning("cannot remove old unwind tables: \(error), ignoring")
    }
    for (number, waiter) in waiters where isSettled(waiter.names) { giveUp(number) }
  }
}

// Finds the files with unwind tables.
extension UnwindTables {
  /// Waits until the queued and running jobs for the given build IDs have ended, or until the time-out.
  ///
  /// The queued jobs become urgent.
  func settle(_ buildIDs: Set<String>, for user: UInt32, timeout_ms: Int) async {
    let wanted = names(buildIDs, user)
    jobs.makeUrgent { wanted.contains($0.name) }
    if !isSettled(wanted) && !isStopped { await wait(for: wanted, timeout_ms: timeout_ms) }
  }

  /// Opens the existing files for the given build IDs that `user` is allowed to use.
  func files(of buildIDs: Set<String>, for user: UInt32) -> [String: Descriptor] {
    var found: [String: Descriptor] = [:]
    for name in names(buildIDs, user) where found[name.buildID] == nil || name.owner == .allUsers {
      guard let file = open(name) else { continue }
      CacheDirectory.touch(name.unwindPath(in: configuration.directory))
      found[name.buildID] = file
    }
    return found
  }

  /// Ends the waiting of all callers of `settle`, which then continue with the existing files.
  ///
  /// Later callers do not wait, either.
  func stop() {
    isStopped = true
    for number in waiters.keys { giveUp(number) }
  }

  private func names(_ buildIDs: Set<String>, _ user: UInt32) -> Set<CacheName> {
    Set(buildIDs.filter(CacheName.isBuildID).flatMap { names($0, user) })
  }

  private func wait(for names: Set<CacheName>, timeout_ms: Int) async {
    let number = tick()
    let alarm = Task {
      try await Task.sleep(for: .milliseconds(timeout_ms))
      giveUp(number)
    }
    await withCheckedContinuation { waiters[number] = Waiter(names: names, continuation: $0) }
    alarm.cancel()
  }

  private func giveUp(_ number: UInt64) {
    waiters.removeValue(forKey: number)?.continuation.resume()
  }

  private func isSettled(_ names: Set<CacheName>) -> Bool {
    jobs.waiting { names.contains($0.name) }.isEmpty && !running.contains { names.contains($0.name) }
  }

  /// Returns the names of two files: the file that is used for all users, and the file that is used only for this user.
  private func names(_ buildID: String, _ user: UInt32) -> [CacheName] {
    [CacheOwner.allUsers, .user(user)].map { CacheName(buildID: buildID, owner: $0) }
  }

  private func isThere(_ name: CacheName) -> Bool { open(name) != nil }

  /// Opens the file with the unwind tables of a build.
  ///
  /// Returns nil if there is no file that can be used. The header of the file contains the build ID and the length. The
  /// method removes a file whose contents do not match its header, for example after a power failure. The tables are
  /// then extracted again. The contents after the header are checked later, when they are read.
  private func open(_ name: CacheName) -> Descriptor? {
    let path = name.unwindPath(in: configuration.directory)
    // The system call open does not read a mode argument, because O_CREAT is not set.
    let number = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard number >= 0 else { return nil }
    let file = Descriptor(owning: number)
    do {
      let bytes = try MemoryFile.read(file, limitBytes: UnwindTablesHeader.size)
      let header = UnwindTablesHeader(bytes, fileSize: Int(try file.status().st_size))
      if header?.buildIDText == name.buildID { return file }
      configuration.logger.info("not used: '\(path)': it is damaged")
      _ = unsafe unlink(path)
    } catch {
      configuration.logger.info("not used: '\(path)': \(error)")
    }
    return nil
  }
}
