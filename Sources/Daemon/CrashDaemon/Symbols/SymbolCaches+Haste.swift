import CrashSymbols
import LinuxSystem
import Logging

// The first crash of a build often comes before its cache is made: a server that dies right after its start. Then the
// few units of its frames are decoded for it alone, beside the whole image.
extension SymbolCaches {
  /// A cache that a crash waits for, and its addresses there.
  struct HastyJob {
    var name: CacheName
    /// Of the crash's waiter.
    var number: UInt64
    /// Whose crash it is.
    var user: UInt32
    /// Under which the user counts.
    var account: UInt32
    var addresses: Set<UInt64>
  }

  /// Starts a job for each cache that a crash waits for, as far as the limits go; the others follow.
  func startHastyJobs(for number: UInt64, _ wanted: [String: Set<UInt64>], of user: UInt32) {
    for name in waiters[number]?.names ?? [] {
      guard let addresses = wanted[name.buildID], !addresses.isEmpty,
        addresses.count <= configuration.limits.hastyAddresses
      else { continue }
      let account = configuration.limits.account(of: user)
      hastyWaiting.append(
        HastyJob(name: name, number: number, user: user, account: account, addresses: addresses))
    }
    startHastyJobs()
  }

  /// Fair between users: one that has fewer jobs comes before one that has more, and none has all places.
  private func startHastyJobs() {
    // No crash waits for these any more.
    hastyWaiting.removeAll { waiters[$0.number]?.names.contains($0.name) != true }
    let limits = configuration.limits
    let taken = { (index: Int) in self.hastyRunning.count { $0 == self.hastyWaiting[index].account } }
    while true {
      let possible = hastyWaiting.indices.filter {
        let user = hastyWaiting[$0].user
        // A user without CPU time waits for the whole caches, as long as a crash waits.
        return limits.hasPlace(
          user, beside: hastyRunning, of: limits.hastySymbolJobs, most: limits.hastySymbolJobsPerUser)
          && configuration.cpu.wait_ns(for: user) == 0
      }
      guard let next = possible.min(by: { (taken($0), $0) < (taken($1), $1) }) else { return }
      start(hastyWaiting.remove(at: next))
    }
  }

  private func start(_ hasty: HastyJob) {
    guard case .pending(let files) = entries[hasty.name], let source = files.values.first else { return }
    let job = SymbolJob(
      program: configuration.program ?? "", image: source.image, buildID: hasty.name.buildID,
      output: hasty.name.path(in: configuration.directory), timeout_ms: configuration.limits.hastySymbolJob_ms,
      debugFiles: debugFiles(of: source.path, hasty.name, for: source.user), charge: configuration.charge(hasty.user))
    do throws(SystemError) {
      // A thread a job: it waits for a child in the kernel, and there are only a few at once.
      try Thread.start(named: "symbols-hasty") { [self] in
        let result = Result { try job.run(for: hasty.addresses) }
        Task { await finish(hasty, result) }
      }
      hastyRunning.append(hasty.account)
    } catch {
      configuration.logger.warning("cannot make symbols in haste: \(error), waiting for the whole cache")
    }
  }

  private func finish(_ hasty: HastyJob, _ result: Result<SymbolCache, any Error>) {
    if let place = hastyRunning.firstIndex(of: hasty.account) { hastyRunning.remove(at: place) }
    switch result {
    case .success(let cache):
      waiters[hasty.number]?.hasty[hasty.name] = cache
      waiters[hasty.number]?.names.remove(hasty.name)
      wake(hasty.number)
    case .failure(let error):
      // Whatever is wrong with the file, the job of the whole cache tells it.
      configuration.logger.debug("no symbols in haste for \(hasty.name.buildID): \(error)")
    }
    startHastyJobs()
  }
}
