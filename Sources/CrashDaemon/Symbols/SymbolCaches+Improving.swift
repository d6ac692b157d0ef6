import CrashSymbols

// A cache with names only becomes a better one when a debug file has been installed since: looked for whenever a process
// attaches or crashes, and when a report is analysed again.
extension SymbolCaches {
  /// Has the caches of an image made anew from debug files that are there now and were not when the caches were made.
  ///
  /// A crash waits for it as for a first cache; when it comes to nothing, or takes too long, the names stand.
  func improve(_ ready: [CacheName], _ image: ImageFile, for user: UInt32) {
    if ready.contains(where: hasLines) { return }
    for name in ready {
      guard case .ready(let cache, _) = entries[name] else { continue }
      let debugFiles = debugFiles(of: image.path, name, for: user).open(buildID: name.buildID, link: cache.debugLink)
      var sources: [ImageFile.Identity: Source] = [:]
      for file in debugFiles where !hasFailed(Failure(name: name, file: file.identity)) {
        let source = Source(image: file.descriptor, path: image.path, user: user)
        guard sources.updateValue(source, forKey: file.identity) == nil else { continue }
        waiting.append(
          Job(
            name: name, path: image.path, user: user, image: file.descriptor, file: file.identity,
            isUrgent: image.isExecutable, order: tick(), isDebugFile: true))
      }
      if !sources.isEmpty { entries[name] = .pending(sources) }
    }
  }

  private func hasLines(_ name: CacheName) -> Bool {
    if case .ready(let cache, _) = entries[name] { cache.hasDebugInformation } else { false }
  }
}
