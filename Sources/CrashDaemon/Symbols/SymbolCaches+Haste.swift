import CrashSymbols
import Logging

// The first crash of a build often comes before its cache is made: a server that dies right after its start. Then the
// few units of its frames are decoded for it alone, beside the whole image.
extension SymbolCaches {
  /// Starts a job for each cache that a crash waits for, as far as the limits go; the others it waits for.
  func startHastyJobs(for number: UInt64, _ wanted: [String: Set<UInt64>]) {
    let limits = configuration.limits
    for name in waiters[number]?.names ?? [] {
      guard case .pending(let files) = entries[name], let addresses = wanted[name.buildID],
        let source = files.values.first, !addresses.isEmpty, addresses.count <= limits.hastyAddresses,
        hastyJobs < limits.hastySymbolJobs
      else { continue }
      let job = SymbolJob(
        program: configuration.program ?? "", image: source.image, buildID: name.buildID,
        output: name.path(in: configuration.directory), timeout_ms: limits.symbolJob_ms,
        debugFiles: debugFiles(of: source.path, name, for: source.user))
      hastyJobs += 1
      do throws(SystemError) {
        // A thread a job: it waits for a child in the kernel, and there are only a few at once.
        try Thread.start(named: "symbols-hasty") { [self] in
          let result = Result { try job.run(for: addresses) }
          Task { await finishHastyJob(name, of: number, result) }
        }
      } catch {
        hastyJobs -= 1
        configuration.logger.warning("cannot make symbols in haste: \(error), waiting for the whole cache")
      }
    }
  }

  private func finishHastyJob(_ name: CacheName, of number: UInt64, _ result: Result<SymbolCache, any Error>) {
    hastyJobs -= 1
    switch result {
    case .success(let cache):
      waiters[number]?.hasty[name] = cache
      waiters[number]?.names.remove(name)
      wake(number)
    case .failure(let error):
      // Whatever is wrong with the file, the job of the whole cache tells it.
      configuration.logger.debug("no symbols in haste for \(name.buildID): \(error)")
    }
  }
}
