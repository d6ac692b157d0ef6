import CrashSymbols

// Rebuilds a cache without line numbers if a debug file was installed after the cache had been built. crashd looks for
// such a debug file when a process attaches or crashes, and when crashd analyzes a report again.
extension SymbolCaches {
  /// The minimum time between two searches for debug files in the directory of an image.
  private static let besideAgain_ns: UInt64 = 10_000_000_000

  /// Rebuilds the caches of an image if debug files were installed after the caches had been built.
  ///
  /// If the debug file is in the system's directory of debug files, the analysis of a crash waits for the rebuilt
  /// cache. After a failure or time-out, the analysis uses the existing cache, which has only function names. The
  /// analysis never waits for debug files in the image's directory, because the file system of this directory can block
  /// forever. The cache that is built from debug files in the image's directory is available for later crashes.
  func improve(_ ready: [CacheName], _ image: ImageFile, for user: UInt32) {
    if ready.contains(where: hasLines) { return }
    for name in ready {
      guard case .ready(let cache, _) = entries[name] else { continue }
      let (files, link) = (debugFiles(of: image.path, name, for: user), cache.debugLink)
      improve(name, by: files.openInstalled(buildID: name.buildID, link: link), of: image, for: user)
      let cpu = configuration.cpu
      guard let link, !ForeignFileWork.shared.isFull(user), cpu.wait_ns(for: user) == 0, isTimeToLookBeside(name)
      else { continue }
      ForeignFileWork.shared.submit(of: user, at: image.place) {
        let found = cpu.charging(user) { files.openBeside(buildID: name.buildID, link: link) }
        if !found.isEmpty { Task { await self.improve(name, by: found, of: image, for: user) } }
      }
    }
  }

  private func isTimeToLookBeside(_ name: CacheName) -> Bool {
    let now = Moment.monotonic_ns()
    if let last = lookedBeside[name], now - last < Self.besideAgain_ns { return false }
    if lookedBeside.count >= configuration.limits.openCaches { lookedBeside = [:] }
    lookedBeside[name] = now
    return true
  }

  private func improve(_ name: CacheName, by files: [ImageFile.Opened], of image: ImageFile, for user: UInt32) {
    // Return if another job for the cache has begun while the debug files were opened.
    guard case .ready = entries[name] else { return }
    var sources: [ImageFile.Identity: Source] = [:]
    for file in files where !hasFailed(Failure(name: name, file: file.identity)) {
      let source = Source(image: file.descriptor, path: image.path, user: user)
      guard sources.updateValue(source, forKey: file.identity) == nil else { continue }
      let job = Job(
        name: name, path: image.path, user: configuration.limits.accounts.fairUser(user), image: file.descriptor,
        file: file.identity, number: tick(), isDebugFile: true)
      jobs.append(job, of: job.user, isUrgent: image.isExecutable)
    }
    if sources.isEmpty { return }
    entries[name] = .pending(sources)
    startJobs()
  }

  private func hasLines(_ name: CacheName) -> Bool {
    if case .ready(let cache, _) = entries[name] { cache.hasDebugInformation } else { false }
  }
}
