import CrashSymbols
import LinuxSystem
import Logging

// Builds partial caches for crashes whose analysis waits for symbols. The first crash of a build often occurs before
// the build's complete cache exists, for example when a server crashes directly after its start. In this case,
// crash-analyse first decodes only the compilation units of the crash's frames. At the same time, another job reads the
// whole image.
extension SymbolCaches {
  /// A job that builds a partial cache for a crash whose analysis waits.
  ///
  /// The partial cache contains only the addresses of the crash's frames.
  struct HastyJob {
    var name: CacheName
    /// The number of the `Waiter` that represents the analysis of the crash.
    var number: UInt64
    /// The user whose process crashed.
    var user: FairUser
    var addresses: Set<UInt64>
  }

  /// Starts a job for each cache that the analysis of a crash waits for, if the limits allow it.
  ///
  /// The remaining jobs wait in a queue.
  func startHastyJobs(for number: UInt64, _ wanted: [String: Set<UInt64>], of user: UInt32) {
    for name in waiters[number]?.names ?? [] {
      guard let addresses = wanted[name.buildID], !addresses.isEmpty,
        addresses.count <= configuration.limits.hastyAddresses
      else { continue }
      let user = configuration.limits.accounts.fairUser(user)
      hastyJobs.append(HastyJob(name: name, number: number, user: user, addresses: addresses), of: user)
    }
    startHastyJobs()
  }

  /// Starts queued jobs, distributed fairly between users.
  ///
  /// The user with the fewest running jobs is served first, and the number of running jobs is limited for each user.
  private func startHastyJobs() {
    // Remove the queued jobs for which no analysis of a crash waits any more.
    hastyJobs.remove { waiters[$0.number]?.names.contains($0.name) != true }
    // If a user has no CPU time left, no partial caches are built for this user's crashes, and the analyses of the
    // crashes wait for the complete caches.
    while let (next, _) = hastyJobs.next(where: { configuration.cpu.wait_ns(for: $0) == 0 }) {
      if !start(next) { hastyJobs.giveBack(next.user) }
    }
  }

  /// Starts the thread of a job.
  ///
  /// - Returns: Whether the job was started.
  private func start(_ hasty: HastyJob) -> Bool {
    guard case .pending(let files) = entries[hasty.name], let source = files.values.first else { return false }
    let job = SymbolJob(
      program: configuration.program ?? "", image: source.image, buildID: hasty.name.buildID,
      output: hasty.name.path(in: configuration.directory), timeout_ms: configuration.limits.hastySymbolJob_ms,
      debugFiles: debugFiles(of: source.path, hasty.name, for: source.user),
      charge: configuration.charge(hasty.user.uid))
    do throws(SystemError) {
      // Each job has its own thread, because the thread blocks until the child ends. The number of threads is small,
      // because the number of concurrent jobs is limited.
      try Thread.start(named: "symbols-hasty") { [self] in
        let result = Result { try job.run(for: hasty.addresses) }
        Task { await finish(hasty, result) }
      }
      return true
    } catch {
      configuration.logger.warning("cannot build a partial symbol cache: \(error), waiting for the whole cache")
      return false
    }
  }

  private func finish(_ hasty: HastyJob, _ result: Result<SymbolCache, any Error>) {
    hastyJobs.giveBack(hasty.user)
    switch result {
    case .success(let cache):
      waiters[hasty.number]?.hasty[hasty.name] = cache
      waiters[hasty.number]?.names.remove(hasty.name)
      wake(hasty.number)
    case .failure(let error):
      // If the image file itself is unusable, the job that builds the complete cache reports the failure.
      configuration.logger.debug("no partial symbol cache of build \(hasty.name.buildID): \(error)")
    }
    startHastyJobs()
  }
}
